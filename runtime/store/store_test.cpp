#include "runtime/store/store.h"

#include <aio.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <set>

#include "runtime/store/sqlite.h"
#include "runtime/store/test_store.h"

using namespace expc;
using namespace expc::store;
using namespace expc::store::test;

// A disk that breaks: these stand before those of the C library.
namespace {
bool disk_is_broken = false;
}
extern "C" int aio_fsync(int operation, aiocb* request) {
  static const auto library = reinterpret_cast<int (*)(int, aiocb*)>(dlsym(RTLD_NEXT, "aio_fsync"));
  if (!disk_is_broken) return library(operation, request);
  errno = EAGAIN;  // no thread for it, so that the call below is made
  return -1;
}
extern "C" int fdatasync(int fd) {
  if (!disk_is_broken) return static_cast<int>(syscall(SYS_fdatasync, fd));
  errno = EIO;
  return -1;
}

TEST_CASE("what was written is read back") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    finish(store, trialOf(plan, 1, filled.block, filled.session, 1), TrialStatus::Timeout);
    llvm::cantFail(store.close());
  }
  std::vector<std::string> messages;
  Store reader = llvm::cantFail(Store::openForReading(folder.path, messages));
  CHECK(messages.empty());
  Results results = llvm::cantFail(reader.load(plan, usualMatch()));
  REQUIRE(results.trials.size() == 2);
  CHECK(results.trials[0].metrics.at("step_time") == 0.5);
  CHECK(results.trials[0].series.at("loss") == std::vector<double>{3, 2, 1});
  CHECK((results.trials[1].status == TrialStatus::Timeout));
  CHECK(results.blocks.size() == 1);
  CHECK(results.sessions.size() == 1);
  CHECK(results.sessions[0].last_seen.wall == 101);
  CHECK(results.sessions[0].last_seen.boot == 11);
  CHECK(results.trials[0].seconds == 1);
  CHECK(results.kept_not_counted == 0);
}

TEST_CASE("only what agrees with the plan counts, and the rest says why not") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  unsigned number = 0;
  const auto add = [&](auto change, TrialStatus status = TrialStatus::Valid,
                       std::vector<std::string> not_on_device = {}) {
    BlockPlan block{{0, "test", plan::TrialKind::Timed, ++number, number, filled.session}, "", {}};
    Trial trial = trialOf(plan, 0, llvm::cantFail(store.addBlock(block)), filled.session, 0, change);
    trial.not_on_device = std::move(not_on_device);
    finish(store, trial, status);
  };
  const auto none = [](TrialKey&) {};
  add(none);
  add([](TrialKey& key) { key.settings = R"({"steps":6})"; });
  add([](TrialKey& key) { key.worker_build = "old"; });
  add([](TrialKey& key) { key.environment_class = "old"; });
  add([](TrialKey& key) { key.data = "old"; });
  add([](TrialKey& key) { key.kind = plan::TrialKind::Quality; });
  add(none, TrialStatus::Interrupted);
  Results results = llvm::cantFail(store.load(plan, usualMatch()));
  CHECK(results.trials.size() == 1);
  CHECK(results.kept_not_counted == 5);
  CHECK(results.not_counted_reasons.size() == 5);

  plan.metrics.push_back({"energy", "energy", "J", plan::Direction::Lower, plan::TrialKind::Timed, false});
  results = llvm::cantFail(store.load(plan, usualMatch()));
  CHECK(results.trials.empty());
  CHECK(results.kept_not_counted == 6);
  add(none, TrialStatus::Valid, {"energy"});
  CHECK(llvm::cantFail(store.load(plan, usualMatch())).trials.size() == 1);
}

TEST_CASE("a command's trial counts for a plan that reads its metrics the same way") {
  using plan::CommandMetric;
  plan::Plan plan = twoPoints();
  plan::Command command;
  command.arguments = {"tool"};
  command.metrics = {{"step_time", CommandMetric::From::Regex, "", "a ([0-9])", 1, false},
                     {"other", CommandMetric::From::Json, "out.json", "/b", 1, false}};
  plan.workloads = {{"", "tool", 1, command}};
  const std::map<std::string, std::string> digests{{"data/x", "d1"}, {commandKey(plan.workloads[0]), "d2"}};
  Match match = usualMatch();
  match.command = Worker{"command-1", "other"};
  match.data_digests = digests;
  const auto key = [&](unsigned point, plan::TrialKind kind = plan::TrialKind::Timed) {
    return keyOf(plan, plan.points[point].id, kind, match);
  };
  const TrialKey held = key(0);
  CHECK(held.worker_build == "command-1");
  CHECK(held.data != key(1).data);  // which reads no data
  match.data_digests[commandKey(plan.workloads[0])] = "d3";
  CHECK(held.data != key(0).data);
  match.data_digests = digests;
  CHECK(held.readings.size() == 1);
  CHECK(held.readings.count("step_time") == 1);
  CHECK(key(0, plan::TrialKind::Quality).readings.empty());

  TestFolder folder;
  Store store = openWriter(folder.path);
  const Filled filled = fill(store);
  finish(store, trialOf(plan, 0, filled.block, filled.session, 0, [&](TrialKey& changed) {
           changed = held;
           changed.readings["more"] = "0123";  // read beside it; nobody asks now
         }));
  CHECK(llvm::cantFail(store.load(plan, match)).trials.size() == 1);
  match.command->build = "command-2";
  CHECK(llvm::cantFail(store.load(plan, match)).trials.empty());
  match.command->build = "command-1";
  CHECK(llvm::cantFail(store.load(plan, match)).trials.size() == 1);
  plan.workloads[0].command->metrics[0].scale = 1e-3;
  const Results results = llvm::cantFail(store.load(plan, match));
  CHECK(results.trials.empty());
  CHECK(has(results.not_counted_reasons.at(0), "another way to read a metric"));

  // What was kept is read again: the same trial, under the new key, with the new value.
  Trial again = trialOf(plan, 0, filled.block, filled.session, 0, [&](TrialKey& changed) { changed = key(0); });
  again.id = 1;
  again.metrics["step_time"] = 0.25;
  llvm::cantFail(store.reread(again));
  REQUIRE(llvm::cantFail(store.load(plan, match)).trials.size() == 1);
  CHECK(llvm::cantFail(store.load(plan, match)).trials[0].metrics.at("step_time") == 0.25);
}

TEST_CASE("without a match the newest run's is taken") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
  CHECK(llvm::cantFail(store.load(plan)).trials.empty());
  addRun(store, filled.session, usualMatch());
  CHECK(llvm::cantFail(store.load(plan)).trials.size() == 1);
  Match newer = usualMatch();
  newer.built_in->build = "newer";
  addRun(store, filled.session, newer);
  CHECK(llvm::cantFail(store.load(plan)).trials.empty());
}

TEST_CASE("a point counts once in a block") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
  Trial again = trialOf(plan, 0, filled.block, filled.session, 0);
  again.attempt = 2;
  again.id = llvm::cantFail(store.beginTrial(again));
  again.status = TrialStatus::Valid;
  again.metrics["step_time"] = 0.25;
  again.environment_json = "{}";
  llvm::cantFail(store.endTrial(again, {}));
  CHECK(llvm::cantFail(store.load(plan, usualMatch())).trials.size() == 1);
}

TEST_CASE("what a dead engine left running is interrupted") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  int64_t block = 0;
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    block = filled.block;
    llvm::cantFail(store.beginTrial(trialOf(plan, 0, filled.block, filled.session, 0)));
  }  // no close(): as if killed
  Store store = openWriter(folder.path);
  auto trials = llvm::cantFail(store.trialsOfBlock(block));
  REQUIRE(trials.size() == 1);
  CHECK((trials[0].status == TrialStatus::Interrupted));
}

TEST_CASE("a second writer is refused with the holder's name") {
  TestFolder folder;
  Store first = openWriter(folder.path);
  std::vector<std::string> messages;
  std::string error = errorOf(Store::openForWriting(folder.path, messages));
  CHECK(has(error, "in use by process " + std::to_string(getpid())));
  CHECK(has(error, "--results"));
}

TEST_CASE("the lease of a dead process is taken over with a message") {
  TestFolder folder;
  pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> messages;
    auto store = Store::openForWriting(folder.path, messages);
    _exit(store ? 0 : 1);  // no destructors: the lease stays
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(status == 0);
  CHECK(!Lease::isLive(folder.path));
  std::vector<std::string> messages;
  Store store = llvm::cantFail(Store::openForWriting(folder.path, messages));
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "process " + std::to_string(child)));
  CHECK(Lease::isLive(folder.path));
}

TEST_CASE("a lease that was taken away is noticed") {
  TestFolder folder;
  Store store = openWriter(folder.path);
  llvm::cantFail(store.heartbeat());
  std::filesystem::remove(folder.path + "/expc.lease");
  llvm::Error error = store.heartbeat();
  CHECK(bool(error));
  CHECK(has(llvm::toString(std::move(error)), "not ours any more"));
  CHECK(has(errorOf(store.addBlock({})), "not ours any more"));
  llvm::Error closing = store.close();
  CHECK(bool(closing));
  llvm::consumeError(std::move(closing));
}

TEST_CASE("readers see all that has ended beside a live writer, write nothing and keep their own view") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  std::vector<std::string> messages;
  CHECK(has(errorOf(Store::openForReading(folder.path, messages)), "no results in"));
  Store writer = openWriter(folder.path);
  Filled filled = fill(writer);
  finish(writer, trialOf(plan, 0, filled.block, filled.session, 0));
  Store reader = llvm::cantFail(Store::openForReading(folder.path, messages));
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "a run is at work"));
  finish(writer, trialOf(plan, 1, filled.block, filled.session, 1));
  CHECK(llvm::cantFail(reader.load(plan, usualMatch())).trials.size() == 1);
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  llvm::cantFail(writer.close());
  chmod(folder.path.c_str(), 0555);
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  chmod(folder.path.c_str(), 0755);
}

TEST_CASE("files that are no results are refused and left alone") {
  TestFolder folder;
  std::string path = folder.path + "/expc.sqlite";
  std::vector<std::string> messages;
  CHECK(has(errorOf(Store::openForReading(folder.path, messages)), "no results in"));

  std::ofstream(path).flush();  // as a run leaves it that is killed before the tables are made
  CHECK(has(errorOf(Store::openForReading(folder.path, messages)), "no results in"));
  CHECK(std::filesystem::file_size(path) == 0);

  std::ofstream(path) << "this is a text file, long enough to be looked at as a database header, and none.\n";
  std::string error = errorOf(Store::openForWriting(folder.path, messages));
  CHECK(has(error, path));
  CHECK(has(error, "mv "));
  CHECK(std::filesystem::file_size(path) > 70);
  CHECK(!std::filesystem::exists(folder.path + "/expc.lease"));

  std::filesystem::remove(path);
  auto make = [&](const char* sql) {
    std::filesystem::remove(path);
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
  };
  make("CREATE TABLE other(x)");
  CHECK(has(errorOf(Store::openForWriting(folder.path, messages)), "some other program"));
  make("CREATE TABLE trial(x); PRAGMA application_id = 1702391907; PRAGMA user_version = 99");
  CHECK(has(errorOf(Store::openForWriting(folder.path, messages)), "schema version 99"));
}

TEST_CASE("an index with a damaged page is built anew from the journals") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    for (unsigned i = 0; i < 60; ++i)
      finish(store, trialOf(plan, i % 2, filled.block, filled.session, i), TrialStatus::Failed);
    llvm::cantFail(store.close());
  }
  std::string path = folder.path + "/expc.sqlite";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 2; page < 9; ++page) {
      file.seekp(page * 4096);
      file << std::string(64, '\xee');
    }
  }
  CHECK(readBack(folder.path, plan).sessions.size() == 1);
  std::vector<std::string> messages;
  Store store = llvm::cantFail(Store::openForWriting(folder.path, messages));
  CHECK(llvm::cantFail(store.load(plan, usualMatch())).trials.size() == 60);
}

TEST_CASE("a folder that cannot be one is named") {
  TestFolder folder;
  std::ofstream(folder.path + "/file") << "x";
  std::vector<std::string> messages;
  std::string error = errorOf(Store::openForWriting(folder.path + "/file/results", messages));
  CHECK(has(error, folder.path + "/file/results"));
  CHECK(has(error, "--results"));
}

TEST_CASE("series, derived metrics and controls: what makes a trial count") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  plan.controls = {{"twice", "aaaa"}};
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    const Trial control =
        trialOf(plan, 0, filled.block, filled.session, 1, [](TrialKey& key) { key.place.control = "twice"; });
    finish(store, control);  // a second valid trial of the point in one block
    llvm::cantFail(store.close());
  }
  std::vector<std::string> messages;
  Store reader = llvm::cantFail(Store::openForReading(folder.path, messages));
  Results results = llvm::cantFail(reader.load(plan, usualMatch()));
  REQUIRE(results.trials.size() == 2);
  CHECK((results.trials[0].place() == plan::Place("aaaa")));
  CHECK((results.trials[1].place() == plan::Place("aaaa", "twice")));

  // A series that was asked for and is there; a derived metric, which no trial holds.
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, plan::TrialKind::Timed, false, true});
  plan.metrics.push_back({"double", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed});
  plan.metrics.back().derived = std::make_shared<const plan::Term>(plan::Term{plan::ConstantTerm{2}});
  CHECK(llvm::cantFail(reader.load(plan, usualMatch())).trials.size() == 2);
  plan.metrics[1].name = "accuracy_curve";
  CHECK(llvm::cantFail(reader.load(plan, usualMatch())).not_counted_reasons ==
        std::vector<std::string>{"2 trials: the metric accuracy_curve was not measured"});

  plan.metrics.resize(1);
  plan.controls.clear();
  results = llvm::cantFail(reader.load(plan, usualMatch()));
  CHECK(results.trials.size() == 1);
  CHECK(results.not_counted_reasons ==
        std::vector<std::string>{"1 trial: of the control twice, which the plan does not have"});
}

TEST_CASE("what ran on null cards and what did not lie in one store and are never read together") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  const auto ran = [&](const std::string& environment_class) {
    const Filled filled = fill(store);
    Match match = usualMatch();
    match.built_in->environment_class = environment_class;
    addRun(store, filled.session, match);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0,
                          [&](TrialKey& key) { key.environment_class = environment_class; }));
  };
  const auto classesOf = [](llvm::Expected<Results> results) {
    std::set<std::string> classes;
    for (const Trial& trial : llvm::cantFail(std::move(results)).trials) classes.insert(trial.key->environment_class);
    return classes;
  };
  using Classes = std::set<std::string>;
  ran("null-class");
  CHECK(classesOf(store.load(plan)) == Classes{"null-class"});
  CHECK(classesOf(store.loadLatest(plan, false)).empty());
  ran("class");
  CHECK(classesOf(store.load(plan)) == Classes{"class"});
  ran("null-class");  // a rehearsal after the measurement does not hide it
  CHECK(classesOf(store.load(plan)) == Classes{"class"});
  CHECK(classesOf(store.loadLatest(plan, true)) == Classes{"null-class"});
  CHECK(llvm::cantFail(store.loadLatest(plan, true)).onNullCards());
  CHECK(!llvm::cantFail(store.load(plan)).onNullCards());
  CHECK(llvm::cantFail(store.load(plan)).kept_not_counted == 2);
}

namespace {

/// As version 2 left it; version 1 had no labels.
void makeOldStore(const std::string& path, int version) {
  const char* label = version == 1 ? "" : ", label TEXT NOT NULL DEFAULT ''";
  const std::string tables = fmt::format(R"sql(
CREATE TABLE session(id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT, boot_id TEXT, environment_class TEXT,
  worker_build TEXT, environment TEXT, opened REAL, last_seen REAL);
CREATE TABLE run(id INTEGER PRIMARY KEY AUTOINCREMENT, study TEXT, plan_digest TEXT, plan TEXT, session INTEGER,
  environment_class TEXT, worker_build TEXT, data_digests TEXT, started REAL, ended REAL, outcome TEXT);
CREATE TABLE block(id INTEGER PRIMARY KEY AUTOINCREMENT, study TEXT, kind TEXT, number INTEGER, seed INTEGER,
  session INTEGER, settings TEXT, points TEXT);
CREATE TABLE trial(id INTEGER PRIMARY KEY AUTOINCREMENT, point TEXT, kind TEXT, settings TEXT, block INTEGER,
  session INTEGER, position INTEGER, attempt INTEGER, status TEXT, reason TEXT, log_tail TEXT, started REAL, ended REAL,
  environment_class TEXT, worker_build TEXT, data_digest TEXT, devices TEXT, environment TEXT, notes TEXT{});
CREATE TABLE metric_value(trial INTEGER, name TEXT, value REAL);
CREATE TABLE series(trial INTEGER, name TEXT, numbers BLOB);
INSERT INTO session VALUES(3, 'host', 'boot', 'class other', 'build command-1', '{{}}', 90, 101);
INSERT INTO run VALUES(5, 'test', 'digest', '{{"plan":1}}', 3, 'class other', 'build command-1', '[["data/x","d1"]]',
  90, 101, 'complete');
INSERT INTO block VALUES(7, 'test', 'timed', 0, 42, 3, '{{"steps":5}}', '["bbbb","aaaa#twice"]');
INSERT INTO metric_value VALUES(11, 'step_time', 0.5);
PRAGMA application_id = 1702391907; PRAGMA user_version = {};)sql",
                                         label, version);
  const plan::Plan plan = twoPoints();
  const TrialKey key = keyOf(plan, "aaaa", plan::TrialKind::Timed, usualMatch());
  const std::string trial = fmt::format(
      "INSERT INTO trial(id, point, kind, settings, block, session, position, attempt, status, reason, log_tail, "
      "started, ended, environment_class, worker_build, data_digest, devices, environment, notes) VALUES(11, 'aaaa', "
      "'timed', '{}', 7, 3, 1, 2, 'valid', '', '', 100, 103, 'class', 'build', '{}', '[]', '{{}}', '[\"note\"]')",
      key.settings, key.data);
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_exec(db, tables.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_exec(db, trial.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

}  // namespace

TEST_CASE("a store of schema version 1 or 2 keeps what it holds, and becomes journals when it is written to") {
  for (const int version : {1, 2}) {
    TestFolder folder;
    plan::Plan plan = twoPoints();
    const std::string path = folder.path + "/expc.sqlite";
    makeOldStore(path, version);
    const auto check = [&](const Results& results) {
      REQUIRE(results.trials.size() == 1);
      const Trial& trial = results.trials[0];
      CHECK(trial.id == 11);
      CHECK(trial.metrics.at("step_time") == 0.5);
      CHECK(trial.seconds == 3);
      CHECK(trial.attempt == 2);
      CHECK(trial.notes == std::vector<std::string>{"note"});
      CHECK(results.blocks.at(0).seed == 42);
      CHECK(results.sessions.at(0).workers.size() == 2);
    };
    check(readBack(folder.path, plan));
    CHECK(!std::filesystem::exists(folder.path + "/journal"));
    std::vector<std::string> messages;
    {
      Store store = llvm::cantFail(Store::openForWriting(folder.path, messages));
      check(llvm::cantFail(store.load(plan, usualMatch())));
      CHECK(llvm::cantFail(store.load(plan)).trials.size() == 1);
      plan.controls = {{"twice", "aaaa"}};
      finish(store, trialOf(plan, 0, 7, 3, 0, [](TrialKey& key) { key.place.control = "twice"; }));
      CHECK(llvm::cantFail(store.load(plan, usualMatch())).trials.size() == 2);
      llvm::cantFail(store.close());
    }
    REQUIRE(messages.size() == 1);
    CHECK(has(messages[0], "of an older schema"));
    CHECK(std::filesystem::exists(path + ".before-journals"));
    CHECK(readBack(folder.path, plan).trials.size() == 2);
  }
}

TEST_CASE("the index is built anew from the journals, and is the same") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  const auto dump = [&] {
    Store store = openWriter(folder.path);
    auto rows = llvm::cantFail(store.database().dump());
    llvm::cantFail(store.close());
    return rows;
  };
  for (unsigned run = 0; run < 3; ++run) {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    addRun(store, filled.session, usualMatch());
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0), TrialStatus::Failed);
    finish(store, trialOf(plan, 1, filled.block, filled.session, 1));
    if (run != 1) llvm::cantFail(store.close());  // one of them dies
  }
  dump();  // the runs that nobody ended are marked
  const std::vector<std::string> rows = dump();
  CHECK(rows.size() > 20);
  std::filesystem::remove(folder.path + "/expc.sqlite");
  CHECK(dump() == rows);
  std::ofstream(folder.path + "/expc.sqlite") << std::string(5000, 'x');
  CHECK(dump() == rows);
}

TEST_CASE("a damaged line is left out and told, and all others count") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    finish(store, trialOf(plan, 1, filled.block, filled.session, 1));
    llvm::cantFail(store.close());
  }
  const std::string journal = folder.path + "/journal/000001.jsonl";
  std::string text = llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(journal)))->getBuffer().str();
  const size_t at = text.find("\"step_time\":0.5");
  REQUIRE(at != std::string::npos);
  text[at + 14] = '9';
  std::ofstream(journal, std::ios::binary) << text;
  std::filesystem::remove(folder.path + "/expc.sqlite");
  std::vector<std::string> messages;
  const Results results = readBack(folder.path, plan, &messages);
  CHECK(results.trials.size() == 1);
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "000001.jsonl line"));
  CHECK(has(messages[0], "checksum"));
}

TEST_CASE("what a writer appends after it lost the folder counts for nothing") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store frozen = openWriter(folder.path);
  Filled filled = fill(frozen);
  finish(frozen, trialOf(plan, 0, filled.block, filled.session, 0));
  const std::string journal = folder.path + "/journal/000001.jsonl";
  const auto before = std::filesystem::file_size(journal);
  std::filesystem::remove(folder.path + "/expc.lease");
  {
    Store taker = openWriter(folder.path);
    Filled other = fill(taker);
    finish(taker, trialOf(plan, 1, other.block, other.session, 0));
    llvm::cantFail(taker.close());
  }
  // It looked at its lease, slept, and writes now.
  std::string late = toLine(BlockPlan{{9, "test", plan::TrialKind::Timed, 9, 9, 1}, "{}", {"aaaa"}}) + "\n";
  std::ofstream(journal, std::ios::app | std::ios::binary) << late;
  CHECK(std::filesystem::file_size(journal) > before);
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  Store store = openWriter(folder.path);
  CHECK(llvm::cantFail(store.database().largest("block")) == 2);
}

TEST_CASE("a value counts once for a seed, whatever the study was called") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  for (const char* study : {"test", "other"}) {
    const int64_t block =
        llvm::cantFail(store.addBlock({{0, study, plan::TrialKind::Timed, 7, 77, filled.session}, "", {"aaaa"}}));
    finish(store, trialOf(plan, 0, block, filled.session, 0));
  }
  const Results results = llvm::cantFail(store.load(plan, usualMatch()));
  CHECK(results.trials.size() == 1);
  CHECK(has(results.not_counted_reasons.at(0), "same seed"));
}

TEST_CASE("what the disk has no room for is kept beside it and taken in by the next writer") {
  TestFolder folder, spool;
  plan::Plan plan = twoPoints();
  setenv("TMPDIR", spool.path.c_str(), 1);
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    Trial trial = trialOf(plan, 0, filled.block, filled.session, 0);
    trial.id = llvm::cantFail(store.beginTrial(trial));
    trial.status = TrialStatus::Valid;
    trial.metrics["step_time"] = 0.5;
    trial.environment_json = "{}";
    // No file may grow beyond what the journal has now; the spool begins at nothing and may.
    signal(SIGXFSZ, SIG_IGN);
    rlimit before{}, tight{};
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = std::filesystem::file_size(folder.path + "/journal/000001.jsonl") + 10;
    setrlimit(RLIMIT_FSIZE, &tight);
    llvm::Error error = store.endTrial(trial, {101, 11});
    setrlimit(RLIMIT_FSIZE, &before);
    REQUIRE(bool(error));
    CHECK(has(llvm::toString(std::move(error)), spool.path));
  }
  std::vector<std::string> messages;
  {
    Store store = llvm::cantFail(Store::openForWriting(folder.path, messages));
    CHECK(llvm::cantFail(store.load(plan, usualMatch())).trials.size() == 1);
    llvm::cantFail(store.close());
  }
  CHECK(std::filesystem::is_empty(spool.path));
  CHECK(readBack(folder.path, plan).trials.at(0).metrics.at("step_time") == 0.5);
  unsetenv("TMPDIR");
}

TEST_CASE("what the disk did not take although it was written is kept beside it, and counts once") {
  TestFolder folder, spool;
  plan::Plan plan = twoPoints();
  setenv("TMPDIR", spool.path.c_str(), 1);
  for (const bool is_followed : {false, true}) {
    CAPTURE(is_followed);
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    disk_is_broken = true;
    // That the disk has it is asked of the next call, not of this one.
    finish(store, trialOf(plan, is_followed, filled.block, filled.session, 0));
    if (is_followed) llvm::cantFail(store.beginTrial(trialOf(plan, 0, filled.block, filled.session, 1)));
    llvm::Error error = store.settle();
    disk_is_broken = false;
    REQUIRE(bool(error));
    const std::string text = llvm::toString(std::move(error));
    CHECK(has(text, "Input/output error"));
    CHECK(has(text, spool.path));
    llvm::cantFail(store.settle());  // it was told
    llvm::cantFail(store.close());
  }
  const Results before = readBack(folder.path, plan);
  CHECK(before.trials.size() == 1);  // the second writer took in the first one's
  {
    Store store = openWriter(folder.path);
    llvm::cantFail(store.close());
  }
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  CHECK(std::filesystem::is_empty(spool.path));
  unsetenv("TMPDIR");
}

TEST_CASE("what the disk did not take is kept beside it too where the next thing to be written is the run's end") {
  TestFolder folder, spool;
  plan::Plan plan = twoPoints();
  setenv("TMPDIR", spool.path.c_str(), 1);
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    disk_is_broken = true;
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    disk_is_broken = false;
    llvm::Error error = store.endRun(1, {102, 12}, "complete");
    REQUIRE(bool(error));
    CHECK(has(llvm::toString(std::move(error)), spool.path));
    llvm::cantFail(store.close());
  }
  llvm::cantFail(openWriter(folder.path).close());
  CHECK(readBack(folder.path, plan).trials.size() == 1);
  unsetenv("TMPDIR");
}

TEST_CASE("tables, views and triggers that a stranger declared in an index never run") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    llvm::cantFail(store.close());
  }
  const auto poison = [&](const char* sql) {
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open((folder.path + "/expc.sqlite").c_str(), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
  };
  for (const char* sql : {"CREATE TRIGGER evil AFTER INSERT ON session BEGIN DELETE FROM trial_row; END",
                          "DROP VIEW trial; CREATE VIEW trial AS SELECT 1 AS id", "CREATE TABLE more(x)"}) {
    poison(sql);
    CHECK(readBack(folder.path, plan).trials.size() == 1);
    Store store = openWriter(folder.path);
    fill(store);
    llvm::cantFail(store.close());
    CHECK(readBack(folder.path, plan).trials.size() == 1);
  }
  // Nor is a link followed.
  std::filesystem::rename(folder.path + "/expc.sqlite", folder.path + "/elsewhere");
  std::filesystem::create_symlink(folder.path + "/elsewhere", folder.path + "/expc.sqlite");
  CHECK(readBack(folder.path, plan).trials.size() == 1);
  std::filesystem::rename(folder.path + "/journal/000001.jsonl", folder.path + "/one");
  std::filesystem::create_symlink(folder.path + "/one", folder.path + "/journal/000001.jsonl");
  std::vector<std::string> messages;
  CHECK(has(errorOf(Store::openForReading(folder.path, messages)), "000001.jsonl"));
}
