#include "runtime/store/store.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/store/sqlite.h"

using namespace expc;
using namespace expc::store;

namespace {

/// A folder of its own for each test, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/expc-store-XXXXXX";
    path = mkdtemp(name);
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

template <typename T>
std::string errorOf(llvm::Expected<T> result) {
  REQUIRE(!result);
  return llvm::toString(result.takeError());
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Store openWriter(const std::string& folder) {
  std::vector<std::string> messages;
  return llvm::cantFail(Store::openForWriting(folder, messages));
}

/// One timed kind, one metric, two points; the first reads data.
plan::Plan twoPoints() {
  plan::Plan plan;
  plan.study = "test";
  plan.workloads = {{"", "some.workload", 1, std::nullopt}};
  plan.metrics.push_back({"step_time", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed, false});
  plan.design.kinds.push_back({plan::TrialKind::Timed, 2, 2, {}, llvm::json::Object{{"steps", 5}}});
  for (const char* id : {"aaaa", "bbbb"}) {
    plan::Point point;
    point.id = id;
    plan.points.push_back(std::move(point));
  }
  plan.points[0].parameters = llvm::json::Object{{"data", llvm::json::Object{{"folder", llvm::json::Array{"data/x"}}}}};
  plan.data_paths = {"data/x"};
  return plan;
}

Match usualMatch() { return {"class", "build", {{"data/x", "d1"}}}; }

Trial trialOf(const plan::Plan& plan, unsigned point, int64_t block, int64_t session, unsigned position) {
  Trial trial;
  trial.point = plan.points[point].id;
  trial.settings = settingsText(plan, plan::TrialKind::Timed);
  trial.block = block;
  trial.session = session;
  trial.position = position;
  trial.started = 100;
  trial.environment_class = "class";
  trial.worker_build = "build";
  trial.data_digest = dataDigest(plan, plan.points[point], trial.kind, usualMatch().data_digests);
  trial.devices = "[]";
  return trial;
}

struct Filled {
  int64_t session = 0, block = 0;
};

Filled fill(Store& store) {
  Session session;
  session.host = "host";
  session.environment_json = "{}";
  session.opened = session.last_seen = 90;
  Filled filled;
  filled.session = llvm::cantFail(store.addSession(session));
  BlockPlan block;
  block.block.study = "test";
  block.block.session = filled.session;
  block.block.number = llvm::cantFail(store.nextBlockNumber("test", plan::TrialKind::Timed));
  block.points = {"bbbb", "aaaa"};
  filled.block = llvm::cantFail(store.addBlock(block));
  return filled;
}

void finish(Store& store, Trial trial, TrialStatus status = TrialStatus::Valid) {
  trial.id = llvm::cantFail(store.beginTrial(trial));
  trial.status = status;
  trial.ended = trial.started + 1;
  if (status == TrialStatus::Valid) trial.metrics["step_time"] = 0.5;
  trial.series["loss"] = {3, 2, 1};
  trial.environment_json = "{}";
  llvm::cantFail(store.endTrial(trial));
}

}  // namespace

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
  CHECK(results.sessions[0].last_seen == 101);
  CHECK(results.kept_not_counted == 0);
}

TEST_CASE("only what agrees with the plan counts, and the rest says why not") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  unsigned position = 0;
  auto add = [&](auto change) {
    Trial trial = trialOf(plan, 0, filled.block, filled.session, position++);
    trial.block =
        llvm::cantFail(store.addBlock({{0, "test", plan::TrialKind::Timed, position, 0, filled.session}, "", {}}));
    change(trial);
    finish(store, trial, trial.status == TrialStatus::Running ? TrialStatus::Valid : trial.status);
  };
  add([](Trial&) {});
  add([](Trial& trial) { trial.settings = R"({"steps":6})"; });
  add([](Trial& trial) { trial.worker_build = "old"; });
  add([](Trial& trial) { trial.environment_class = "old"; });
  add([](Trial& trial) { trial.data_digest = "old"; });
  add([](Trial& trial) { trial.kind = plan::TrialKind::Quality; });
  add([](Trial& trial) { trial.status = TrialStatus::Interrupted; });
  Results results = llvm::cantFail(store.load(plan, usualMatch()));
  CHECK(results.trials.size() == 1);
  CHECK(results.kept_not_counted == 5);
  CHECK(results.not_counted_reasons.size() == 5);

  plan.metrics.push_back({"energy", "energy", "J", plan::Direction::Lower, plan::TrialKind::Timed, false});
  results = llvm::cantFail(store.load(plan, usualMatch()));
  CHECK(results.trials.empty());
  CHECK(results.kept_not_counted == 6);
  add([](Trial& trial) { trial.not_on_device = {"energy"}; });
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
  const auto digest = [&](unsigned point, const std::map<std::string, std::string>& of) {
    return dataDigest(plan, plan.points[point], plan::TrialKind::Timed, of);
  };
  const std::string held = digest(0, digests);
  CHECK(held != digest(1, digests));  // which reads no data
  CHECK(held != digest(0, {{"data/x", "d1"}, {commandKey(plan.workloads[0]), "d3"}}));
  CHECK(held.find(" step_time=") != std::string::npos);
  CHECK(held.find("other") == std::string::npos);
  CHECK(dataDigest(plan, plan.points[0], plan::TrialKind::Quality, digests).find(' ') == std::string::npos);

  TestFolder folder;
  Store store = openWriter(folder.path);
  Match match = usualMatch();
  match.worker_build = "build command-1";
  match.environment_class = "class other";
  match.data_digests = digests;
  const int64_t session = llvm::cantFail(store.addSession({}));
  BlockPlan block;
  block.block.study = "test";
  block.block.session = session;
  block.points = {"aaaa"};
  Trial trial = trialOf(plan, 0, llvm::cantFail(store.addBlock(block)), session, 0);
  trial.worker_build = "command-1";
  trial.environment_class = "other";
  trial.data_digest = held + " more=0123";  // read beside it; nobody asks now
  trial.id = llvm::cantFail(store.beginTrial(trial));
  trial.status = TrialStatus::Valid;
  trial.metrics["step_time"] = 1;
  llvm::cantFail(store.endTrial(trial));
  CHECK(llvm::cantFail(store.load(plan, match)).trials.size() == 1);
  match.worker_build = "build command-2";
  CHECK(llvm::cantFail(store.load(plan, match)).trials.empty());
  match.worker_build = "command-1";
  CHECK(llvm::cantFail(store.load(plan, match)).trials.size() == 1);
  plan.workloads[0].command->metrics[0].scale = 1e-3;
  const Results results = llvm::cantFail(store.load(plan, match));
  CHECK(results.trials.empty());
  CHECK(has(results.not_counted_reasons.at(0), "another way to read a metric"));
}

TEST_CASE("without a match the newest run's is taken") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
  CHECK(llvm::cantFail(store.load(plan)).trials.empty());
  Run run;
  run.study = "test";
  run.session = filled.session;
  run.match = usualMatch();
  llvm::cantFail(store.addRun(run));
  CHECK(llvm::cantFail(store.load(plan)).trials.size() == 1);
  run.match.worker_build = "newer";
  llvm::cantFail(store.addRun(run));
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
  CHECK(bool(store.endTrial(again)) == true);
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

TEST_CASE("a reused process number does not keep a lease alive, a fresh foreign one does") {
  TestFolder folder;
  LeaseHolder self = LeaseHolder::self("run");
  auto write = [&](const std::string& host, int64_t pid, uint64_t ticks) {
    std::ofstream(folder.path + "/expc.lease")
        << R"({"boot_id":")" << self.boot_id << R"(","host":")" << host << R"(","pid":)" << pid
        << R"(,"pid_namespace":")" << self.pid_namespace << R"(","purpose":"run","start_ticks":)" << ticks << "}";
  };
  write(self.host, self.pid, self.start_ticks);
  CHECK(Lease::isLive(folder.path));
  write(self.host, self.pid, self.start_ticks + 1);
  CHECK(!Lease::isLive(folder.path));
  write("elsewhere", 1, 1);
  CHECK(Lease::isLive(folder.path));
  timespec old[2] = {{time(nullptr) - 1000, 0}, {time(nullptr) - 1000, 0}};
  utimensat(AT_FDCWD, (folder.path + "/expc.lease").c_str(), old, 0);
  CHECK(!Lease::isLive(folder.path));
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
  CHECK(!std::filesystem::exists(folder.path + "/snapshot.sqlite"));
}

TEST_CASE("readers see the last published state beside a live writer, and never disturb it") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store writer = openWriter(folder.path);
  std::vector<std::string> messages;
  CHECK(has(errorOf(Store::openForReading(folder.path, messages)), "has not finished its first block"));
  Filled filled = fill(writer);
  finish(writer, trialOf(plan, 0, filled.block, filled.session, 0));
  llvm::cantFail(writer.publishSnapshot());
  finish(writer, trialOf(plan, 1, filled.block, filled.session, 1));
  Store reader = llvm::cantFail(Store::openForReading(folder.path, messages));
  CHECK(messages.size() == 1);
  CHECK(llvm::cantFail(reader.load(plan, usualMatch())).trials.size() == 1);
  llvm::cantFail(writer.publishSnapshot());
  CHECK(llvm::cantFail(reader.load(plan, usualMatch())).trials.size() == 1);  // still its own view
}

TEST_CASE("files that are no results are refused and left alone") {
  TestFolder folder;
  std::string path = folder.path + "/expc.sqlite";
  std::vector<std::string> messages;
  CHECK(has(errorOf(Store::openForReading(folder.path, messages)), "no results in"));

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

TEST_CASE("a damaged page is found when the file is opened") {
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
  std::vector<std::string> messages;
  std::string error = errorOf(Store::openForWriting(folder.path, messages));
  CHECK(has(error, path));
  CHECK(has(error, "snapshot.sqlite"));
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
    Trial control = trialOf(plan, 0, filled.block, filled.session, 1);
    control.label = "twice";
    finish(store, control);  // a second valid trial of the point in one block
    llvm::cantFail(store.close());
  }
  std::vector<std::string> messages;
  Store reader = llvm::cantFail(Store::openForReading(folder.path, messages));
  Results results = llvm::cantFail(reader.load(plan, usualMatch()));
  REQUIRE(results.trials.size() == 2);
  CHECK(results.trials[0].place() == "aaaa");
  CHECK(results.trials[1].place() == "aaaa#twice");
  CHECK(partsOf("aaaa#twice").label == "twice");

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
    Run run;
    run.study = "test";
    run.session = filled.session;
    run.match = usualMatch();
    run.match.environment_class = environment_class;
    llvm::cantFail(store.addRun(run));
    Trial trial = trialOf(plan, 0, filled.block, filled.session, 0);
    trial.environment_class = environment_class;
    finish(store, trial);
  };
  const auto classesOf = [](llvm::Expected<Results> results) {
    std::set<std::string> classes;
    for (const Trial& trial : llvm::cantFail(std::move(results)).trials) classes.insert(trial.environment_class);
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

TEST_CASE("a store of schema version 1 keeps what it holds") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    finish(store, trialOf(plan, 1, filled.block, filled.session, 1));
    llvm::cantFail(store.close());
  }
  // As version 1 left it: without the column, with the narrower index.
  for (const char* name : {"/expc.sqlite", "/snapshot.sqlite"}) {
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open((folder.path + name).c_str(), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db,
                         "DROP INDEX one_valid_trial; ALTER TABLE trial DROP COLUMN label;"
                         "CREATE UNIQUE INDEX one_valid_trial ON trial(block, point) WHERE status = 'valid';"
                         "PRAGMA user_version = 1;",
                         nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
  }
  std::vector<std::string> messages;
  {
    // A snapshot beside a live writer is only read.
    Store reader = llvm::cantFail(Store::openForReading(folder.path, messages));
    Results results = llvm::cantFail(reader.load(plan, usualMatch()));
    REQUIRE(results.trials.size() == 2);
    CHECK(results.trials[0].label.empty());
    CHECK(results.trials[0].metrics.at("step_time") == 0.5);
  }
  Store store = openWriter(folder.path);
  Results before = llvm::cantFail(store.load(plan, usualMatch()));
  CHECK(before.trials.size() == 2);
  plan.controls = {{"twice", "aaaa"}};
  Trial control = trialOf(plan, 0, before.trials[0].block, before.trials[0].session, 2);
  control.label = "twice";
  finish(store, control);
  CHECK(llvm::cantFail(store.load(plan, usualMatch())).trials.size() == 3);
  llvm::cantFail(store.close());
}
