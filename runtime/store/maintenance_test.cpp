#include "runtime/store/maintenance.h"

#include <doctest/doctest.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>

#include "runtime/base/files/marks.h"
#include "tests/support/store/store.h"

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
  llvm::cantFail(store.endRun(run, {102, 12}, {Outcome::Complete}));
  llvm::cantFail(store.close());
}

Verified verified(const std::string& folder) { return llvm::cantFail(verify(folder)); }

}  // namespace

TEST_CASE("a look at every line finds what is damaged") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  CHECK(has(errorOf(verify(folder.path)), "no results in"));
  for (const uint64_t seed : {1, 2, 3}) measure(folder.path, plan, seed);
  Verified found = verified(folder.path);
  CHECK(found.damage.empty());
  CHECK(found.notes.empty());
  CHECK(found.journals == 3);
  CHECK(found.trials == 6);
  CHECK(found.blocks == 6);

  std::ofstream(folder.path + "/journal/000003.jsonl", std::ios::app) << R"({"entry":"begin","tri)";
  found = verified(folder.path);
  CHECK(found.damage.empty());
  REQUIRE(found.notes.size() == 1);
  CHECK(has(found.notes[0], "000003.jsonl"));
  std::filesystem::resize_file(folder.path + "/journal/000001.jsonl", 200);
  CHECK(has(errorOf(verify(folder.path)), "000001.jsonl"));
}

TEST_CASE("a journal that is gone is told, as long as a later one names it, and not made final") {
  TestFolder folder, other, moved;
  const plan::Plan plan = twoPoints();
  for (const uint64_t seed : {1, 2, 3}) measure(folder.path, plan, seed);
  const std::string journal = folder.path + "/journal/000002.jsonl", backup = moved.path + "/backup";
  std::filesystem::rename(journal, backup);
  const Verified found = verified(folder.path);
  CHECK(found.journals == 2);
  REQUIRE(found.damage.size() == 1);
  CHECK(has(found.damage[0], "000002.jsonl: is missing"));
  std::vector<std::string> messages;
  CHECK(readBack(folder.path, plan, &messages).trials.size() == 4);
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "000002.jsonl: is missing"));
  CHECK(llvm::cantFail(merge(other.path, folder.path, messages)).trials == 4);
  CHECK(messages.size() == 2);
  CHECK(has(errorOf(compact(folder.path, messages)), "000002.jsonl: is missing"));
  measure(folder.path, plan, 4);
  CHECK(verified(folder.path).damage.size() == 1);
  std::filesystem::rename(backup, journal);
  CHECK(verified(folder.path).damage.empty());
  CHECK(readBack(folder.path, plan).trials.size() == 8);
  llvm::cantFail(compact(folder.path, messages));
  CHECK(verified(folder.path).damage.empty());
}

TEST_CASE("a later journal stands in for the damaged first line of another, and of the last one nothing does") {
  TestFolder folder, other;
  const plan::Plan plan = twoPoints();
  for (const uint64_t seed : {1, 2, 3}) measure(folder.path, plan, seed);
  const auto damage = [&](const std::string& name) {
    std::fstream(folder.path + "/journal/" + name, std::ios::in | std::ios::out | std::ios::binary).seekp(20) << '#';
  };
  damage("000002.jsonl");
  std::vector<std::string> messages;
  CHECK(readBack(folder.path, plan, &messages).trials.size() == 6);
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "000002.jsonl line 1: its checksum does not match"));
  CHECK(verified(folder.path).damage.size() == 1);
  CHECK(has(errorOf(compact(folder.path, messages)), "000002.jsonl line 1"));
  CHECK(llvm::cantFail(merge(other.path, folder.path, messages)).trials == 6);
  measure(folder.path, plan, 4);
  CHECK(readBack(folder.path, plan).trials.size() == 8);
  CHECK(llvm::cantFail(merge(other.path, folder.path, messages)).trials == 2);

  damage("000004.jsonl");
  CHECK(has(errorOf(verify(folder.path)), "000004.jsonl: the first line: its checksum does not match"));
  CHECK(has(errorOf(Store::openForWriting(folder.path, messages)), "Restore the file; or move it away"));
  std::filesystem::rename(folder.path + "/journal/000004.jsonl", folder.path + "/away");
  CHECK(readBack(folder.path, plan).trials.size() == 6);
}

TEST_CASE("one journal of all says what all of them said") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  for (const uint64_t seed : {1, 2, 3}) measure(folder.path, plan, seed);
  const std::string before = contentText(openWriter(folder.path));
  std::ofstream(folder.path + "/expc.sqlite") << "an older expc's index";
  std::vector<std::string> messages;
  const Compacted done = llvm::cantFail(compact(folder.path, messages));
  CHECK(done.journals == 3);
  CHECK(done.bytes_after < done.bytes_before);
  CHECK(verified(folder.path).journals == 1);
  CHECK(contentText(openWriter(folder.path)) == before);
  CHECK(!std::filesystem::exists(folder.path + "/expc.sqlite"));
  measure(folder.path, plan, 4);
  CHECK(readBack(folder.path, plan).trials.size() == 8);
  CHECK(verified(folder.path).damage.empty());
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

TEST_CASE("kept outputs are all taken along, or nothing is, and the same command again takes what is missing") {
  TestFolder into, from;
  const plan::Plan plan = twoPoints();
  measure(into.path, plan, 1);
  measure(from.path, plan, 2);
  std::filesystem::create_directory(from.path + "/outputs");
  for (const int64_t trial : {1, 2}) std::ofstream(keptOutput(from.path, trial)) << "of " << trial;
  std::vector<std::string> messages;
  const std::string second = keptOutput(into.path, 4), outputs = into.path + "/outputs";
  const auto refused = [&](const std::string& place) {
    CHECK(has(errorOf(merge(into.path, from.path, messages)), place));
    CHECK(readBack(into.path, plan).trials.size() == 2);
    CHECK(!std::filesystem::exists(keptOutput(into.path, 3)));
  };
  std::ofstream(outputs) << "as a full disk, nothing can be written";
  refused(keptOutput(into.path, 3));
  std::filesystem::remove(outputs);
  std::filesystem::rename(keptOutput(from.path, 2), from.path + "/two");
  std::filesystem::create_symlink(from.path + "/two", keptOutput(from.path, 2));
  refused(keptOutput(from.path, 2) + ": is a link");
  std::filesystem::rename(from.path + "/two", keptOutput(from.path, 2));
  CHECK(llvm::cantFail(merge(into.path, from.path, messages)).trials == 2);
  CHECK(std::filesystem::file_size(second) == 4);
  std::filesystem::remove(second);
  CHECK(llvm::cantFail(merge(into.path, from.path, messages)).known == 2);
  CHECK(std::filesystem::file_size(second) == 4);
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

TEST_CASE("two trials of one place, time and status are two, although ours stand between them") {
  TestFolder into, from;
  const plan::Plan plan = twoPoints();
  const auto attempt = [&](Store& store, const Filled& filled, unsigned number, double started) {
    Trial trial = trialOf(plan, 0, filled.block, filled.session, 0);
    trial.attempt = number;
    trial.started = started;
    finish(store, trial, TrialStatus::Failed);
  };
  Store theirs = openWriter(from.path);
  const Filled filled = fill(theirs);
  attempt(theirs, filled, 1, 100);
  std::vector<std::string> messages;
  llvm::cantFail(theirs.sync());
  CHECK(llvm::cantFail(merge(into.path, from.path, messages)).trials == 1);
  {
    Store ours = openWriter(into.path);
    const Block& block = ours.contents().blocks.begin()->second.block;
    attempt(ours, {block.session, block.id}, 2, 300);
    llvm::cantFail(ours.close());
  }
  for (const unsigned number : {2, 3}) attempt(theirs, filled, number, 100);  // somebody set the clock back
  llvm::cantFail(theirs.close());
  CHECK(llvm::cantFail(merge(into.path, from.path, messages)).trials == 2);
  CHECK(verified(into.path).trials == 4);
  CHECK(llvm::cantFail(merge(into.path, from.path, messages)).trials == 0);
}

TEST_CASE("what a killed run measured comes with the run, and what one at work measures once that has ended") {
  TestFolder into, from;
  const plan::Plan plan = twoPoints();
  const auto begin = [&](Store& store, unsigned point) {
    const Filled filled = fill(store);
    Trial trial = trialOf(plan, point, filled.block, filled.session, 0);
    trial.run = addRun(store, filled.session, usualMatch());
    finish(store, trial);
    llvm::cantFail(store.sync());
    return trial.run;
  };
  const auto held = [&] {
    std::vector<std::string> messages;
    return llvm::cantFail(Store::openForReading(into.path, messages)).contents().trials;
  };
  std::vector<std::string> messages;
  {
    Store store = openWriter(from.path);
    begin(store, 0);
  }  // no close(): as if killed
  Merged merged = llvm::cantFail(merge(into.path, from.path, messages));
  CHECK(merged.runs == 1);
  CHECK(merged.trials == 1);
  CHECK(messages.empty());
  {
    Store store = openWriter(into.path);
    CHECK(store.contents().runs.at(1).outcome == Outcome{Outcome::Killed});
    CHECK(store.contents().trials.at(1).run == 1);
    llvm::cantFail(store.endRun(addRun(store, 1, usualMatch()), {}, {Outcome::Complete}));
    llvm::cantFail(store.close());
  }

  Store store = openWriter(from.path);
  const int64_t run = begin(store, 1);
  merged = llvm::cantFail(merge(into.path, from.path, messages));
  CHECK(merged.sessions == 0);
  CHECK(merged.runs == 0);
  CHECK(merged.blocks == 0);
  CHECK(merged.trials == 0);
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "a run is in progress in '" + from.path + "'"));
  llvm::cantFail(store.endRun(run, {102, 12}, {Outcome::Complete}));
  llvm::cantFail(store.close());
  merged = llvm::cantFail(merge(into.path, from.path, messages));
  CHECK(merged.runs == 1);
  CHECK(merged.trials == 1);
  CHECK(merged.known == 1);
  CHECK(messages.size() == 1);
  CHECK(held().at(1).run == 1);
  CHECK(held().at(2).run == 3);
  CHECK(verified(into.path).damage.empty());
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
  // A killed merge leaves a hidden journal, and the output of a trial that never came to be.
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
  CHECK(has(errorOf(merge(folder.path, other.path + "/copy", messages)), "are copies of one folder"));
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  // The refused merge took nothing over: each folder has its own trials.
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
  llvm::cantFail(exportSql(folder.path, file, messages));
  CHECK(files::isOurs((*llvm::MemoryBuffer::getFile(file))->getBuffer()));
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  sqlite3_stmt* query = nullptr;
  REQUIRE(sqlite3_prepare_v2(db, "SELECT count(*), sum(value) FROM measurement WHERE metric = 'step_time'", -1, &query,
                             nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(query) == SQLITE_ROW);
  CHECK(sqlite3_column_int(query, 0) == 3);
  CHECK(sqlite3_column_double(query, 1) == 1.5);
  sqlite3_finalize(query);
  sqlite3_close(db);
  llvm::Error again = exportSql(folder.path, file, messages);
  REQUIRE(bool(again));
  CHECK(has(llvm::toString(std::move(again)), "exists"));
}
