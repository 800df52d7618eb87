#include "runtime/store/maintenance.h"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>

#include "runtime/store/files.h"
#include "runtime/store/test_store.h"

using namespace expc;
using namespace expc::store;
using namespace expc::store::test;

namespace {

/// A block with a trial of each point, in a writer of its own.
void measure(const std::string& folder, const plan::Plan& plan, uint64_t seed) {
  Store store = openWriter(folder);
  const Filled filled = fill(store);
  const int64_t run = addRun(store, filled.session, usualMatch());
  BlockPlan block{{0, "test", plan::TrialKind::Timed, 100 + seed, seed, filled.session}, "{}", {"aaaa", "bbbb"}};
  const int64_t id = llvm::cantFail(store.addBlock(block));
  finish(store, trialOf(plan, 0, id, filled.session, 0));
  finish(store, trialOf(plan, 1, id, filled.session, 1));
  llvm::cantFail(store.endRun(run, {102, 12}, "complete"));
  llvm::cantFail(store.close());
}

Verified verified(const std::string& folder) { return llvm::cantFail(verify(folder)); }

}  // namespace

TEST_CASE("a look at every line finds what is damaged, and that an index lies") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  CHECK(has(errorOf(verify(folder.path)), "no results in"));
  for (const uint64_t seed : {1, 2, 3}) measure(folder.path, plan, seed);
  Verified found = verified(folder.path);
  CHECK(found.damage.empty());
  CHECK(found.notes.empty());
  CHECK(found.index_current);
  CHECK(found.journals == 3);
  CHECK(found.trials == 6);
  CHECK(found.blocks == 6);

  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open((folder.path + "/expc.sqlite").c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_exec(db, "UPDATE metric_value SET value = 0.1 WHERE trial = 3", nullptr, nullptr, nullptr) == 0);
  sqlite3_close(db);
  found = verified(folder.path);
  REQUIRE(found.damage.size() == 1);
  CHECK(has(found.damage[0], "expc.sqlite"));
  std::filesystem::remove(folder.path + "/expc.sqlite");
  CHECK(verified(folder.path).damage.empty());

  std::ofstream(folder.path + "/journal/000003.jsonl", std::ios::app) << R"({"entry":"begin","tri)";
  found = verified(folder.path);
  CHECK(found.damage.empty());
  REQUIRE(found.notes.size() == 1);
  CHECK(has(found.notes[0], "000003.jsonl"));
  std::filesystem::resize_file(folder.path + "/journal/000001.jsonl", 200);
  CHECK(has(errorOf(verify(folder.path)), "000001.jsonl"));
}

TEST_CASE("one journal of all says what all of them said") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  for (const uint64_t seed : {1, 2, 3}) measure(folder.path, plan, seed);
  const auto dump = [&] { return llvm::cantFail(openWriter(folder.path).database().dump()); };
  const std::vector<std::string> rows = dump();
  std::vector<std::string> messages;
  const Compacted done = llvm::cantFail(compact(folder.path, messages));
  CHECK(done.journals == 3);
  CHECK(done.bytes_after < done.bytes_before);
  CHECK(verified(folder.path).journals == 1);
  CHECK(verified(folder.path).index_current);
  CHECK(dump() == rows);
  measure(folder.path, plan, 4);
  CHECK(readBack(folder.path, plan).trials.size() == 8);
  CHECK(verified(folder.path).damage.empty());
}

TEST_CASE("an index of a stranger that lies about its journals is not taken over") {
  TestFolder first, second;
  const plan::Plan plan = twoPoints();
  measure(first.path, plan, 1);
  measure(second.path, plan, 2);
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open((first.path + "/expc.sqlite").c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_exec(db, "UPDATE metric_value SET value = 99", nullptr, nullptr, nullptr) == SQLITE_OK);
  CHECK(sqlite3_changes(db) > 0);
  sqlite3_close(db);
  std::vector<std::string> messages;
  CHECK(llvm::cantFail(merge(second.path, first.path, messages)).trials == 2);
  REQUIRE(sqlite3_open((second.path + "/expc.sqlite").c_str(), &db) == SQLITE_OK);
  {
    Statement lies(db, second.path, "SELECT count(*) FROM metric_value WHERE value = 99");
    CHECK(lies.step());
    CHECK(lies.integer(0) == 0);
    llvm::cantFail(lies.take());
  }
  sqlite3_close(db);
}

TEST_CASE("what another folder holds is taken over once, wherever it came from") {
  TestFolder first, second, third;
  const plan::Plan plan = twoPoints();
  measure(first.path, plan, 1);
  measure(second.path, plan, 2);
  measure(third.path, plan, 3);
  std::vector<std::string> messages;
  std::filesystem::create_directories(first.path + "/outputs");
  std::ofstream(keptOutput(first.path, 1)) << "of one";
  CHECK(llvm::cantFail(merge(second.path, first.path, messages)).trials == 2);
  const auto outputs = std::filesystem::directory_iterator(second.path + "/outputs");
  CHECK(std::distance(begin(outputs), end(outputs)) == 1);
  CHECK(!std::filesystem::exists(keptOutput(second.path, 1)));  // under the number that its trial has here
  CHECK(readBack(second.path, plan).trials.size() == 4);
  CHECK(llvm::cantFail(merge(second.path, first.path, messages)).trials == 0);
  measure(first.path, plan, 4);
  const Merged more = llvm::cantFail(merge(second.path, first.path, messages));
  CHECK(more.trials == 2);
  CHECK(more.known == 2);
  CHECK(llvm::cantFail(merge(third.path, second.path, messages)).trials == 6);
  CHECK(llvm::cantFail(merge(third.path, first.path, messages)).trials == 0);  // the second had them from it
  CHECK(llvm::cantFail(merge(first.path, third.path, messages)).trials == 4);  // its own come back as known
  CHECK(readBack(first.path, plan).trials.size() == 8);
  for (const TestFolder* folder : {&first, &second, &third}) CHECK(verified(folder->path).damage.empty());
  CHECK(messages.empty());
}

TEST_CASE("of two machines both count, though their blocks have the same seeds, and a copy of either does not") {
  TestFolder first, second, copy;
  const plan::Plan plan = twoPoints();
  const auto on = [&](const std::string& folder, const std::string& host, double started) {
    Store store = openWriter(folder);
    Session session;
    session.where.nodes = {host};
    session.environment_json = "{}";
    BlockPlan block;
    block.block.study = "test";
    block.block.session = llvm::cantFail(store.addSession(session));
    block.block.seed = 7;
    block.places = {"bbbb", "aaaa"};
    block.block.id = llvm::cantFail(store.addBlock(block));
    for (const unsigned point : {0u, 1u}) {
      Trial trial = trialOf(plan, point, block.block.id, block.block.session, point);
      trial.started = started;
      finish(store, trial);
    }
    llvm::cantFail(store.close());
  };
  on(first.path, "one", 100);
  on(second.path, "other", 200);
  on(copy.path, "host1", 100);  // as an anonymous bundle calls it
  std::vector<std::string> messages;
  CHECK(llvm::cantFail(merge(first.path, second.path, messages)).trials == 2);
  CHECK(readBack(first.path, plan).trials.size() == 4);
  CHECK(llvm::cantFail(merge(first.path, copy.path, messages)).trials == 2);
  CHECK(readBack(first.path, plan).trials.size() == 4);
}

TEST_CASE("a merge that ends before its end leaves nothing, and is done by the next one") {
  TestFolder into, from;
  const plan::Plan plan = twoPoints();
  measure(into.path, plan, 1);
  measure(from.path, plan, 2);
  {
    Store store = openWriter(into.path);
    llvm::cantFail(store.beginWhole());
    const Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
  }
  CHECK(readBack(into.path, plan).trials.size() == 2);
  // As one that is killed leaves it: a journal that nobody sees, and an output of a trial that never was.
  std::filesystem::create_directories(into.path + "/outputs");
  std::ofstream(into.path + "/journal/000002.jsonl.new") << "half of";
  std::ofstream(keptOutput(into.path, 3)) << "of another";
  std::vector<std::string> messages;
  CHECK(llvm::cantFail(merge(into.path, from.path, messages)).trials == 2);
  CHECK(readBack(into.path, plan).trials.size() == 4);
  CHECK(!std::filesystem::exists(keptOutput(into.path, 3)));
  CHECK(!std::filesystem::exists(into.path + "/journal/000002.jsonl.new"));
  CHECK(verified(into.path).damage.empty());
}

TEST_CASE("a copy that went on by itself is refused") {
  TestFolder folder, other;
  const plan::Plan plan = twoPoints();
  measure(folder.path, plan, 1);
  std::filesystem::copy(folder.path, other.path + "/copy", std::filesystem::copy_options::recursive);
  measure(other.path + "/copy", plan, 2);
  std::vector<std::string> messages;
  CHECK(has(errorOf(merge(folder.path, other.path + "/copy", messages)), "is a copy of"));
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  // Nothing of the copy's time comes out of the original, and the other way round.
  CHECK(readBack(other.path + "/copy", plan).trials.size() == 4);
}

TEST_CASE("an export is one file with all of it, beside a writer too") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  measure(folder.path, plan, 1);
  Store writer = openWriter(folder.path);
  const Filled filled = fill(writer);
  finish(writer, trialOf(plan, 0, filled.block, filled.session, 0));
  std::vector<std::string> messages;
  const std::string file = folder.path + "/out.sqlite";
  llvm::cantFail(exportIndex(folder.path, file, messages));
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  {
    Statement count(db, file, "SELECT count(*) FROM trial WHERE status = 'valid'");
    REQUIRE(count.step());
    CHECK(count.integer(0) == 3);
  }
  sqlite3_close(db);
  llvm::Error again = exportIndex(folder.path, file, messages);
  REQUIRE(bool(again));
  CHECK(has(llvm::toString(std::move(again)), "is there already"));
}

TEST_CASE("an index whose journals are gone is refused, and kept") {
  TestFolder folder;
  measure(folder.path, twoPoints(), 1);
  std::filesystem::rename(folder.path + "/journal", folder.path + "/elsewhere");
  const auto size = std::filesystem::file_size(folder.path + "/expc.sqlite");
  std::vector<std::string> messages;
  for (const bool writing : {true, false}) {
    auto store = writing ? Store::openForWriting(folder.path, messages) : Store::openForReading(folder.path, messages);
    REQUIRE_FALSE(bool(store));
    CHECK(has(llvm::toString(store.takeError()), "the journals that they are from are gone"));
  }
  CHECK(std::filesystem::file_size(folder.path + "/expc.sqlite") == size);
  std::filesystem::rename(folder.path + "/elsewhere", folder.path + "/journal");
  Store again = llvm::cantFail(Store::openForWriting(folder.path, messages));
  llvm::cantFail(again.close());
}
