#include "runtime/store/store.h"

#include <aio.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/CRC.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/results_folder.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/store/maintenance.h"
#include "tests/support/plan/example_plan.h"
#include "tests/support/store/store.h"

using namespace expc;
using namespace expc::store;
using namespace expc::store::test;

// Simulates a disk that breaks: these functions take precedence over those of the C library.
namespace {
bool disk_is_broken = false;

std::string contentOf(const std::string& path) {
  return llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)))->getBuffer().str();
}
}  // namespace
extern "C" int aio_fsync(int operation, aiocb* request) {
  static const auto library = reinterpret_cast<int (*)(int, aiocb*)>(dlsym(RTLD_NEXT, "aio_fsync"));
  if (!disk_is_broken) return library(operation, request);
  errno = EAGAIN;  // no thread for it, so that the call below is made
  return -1;
}
extern "C" int fdatasync(int fd) {
  if (!disk_is_broken) return int(syscall(SYS_fdatasync, fd));
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
  Results results = reader.load(plan, usualMatch());
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
  Results results = store.load(plan, usualMatch());
  CHECK(results.trials.size() == 1);
  CHECK(results.kept_not_counted == 5);
  CHECK(results.not_counted_reasons.size() == 5);

  plan.metrics.push_back({"energy", "energy", "J", plan::Direction::Lower, plan::TrialKind::Timed, false});
  results = store.load(plan, usualMatch());
  CHECK(results.trials.empty());
  CHECK(results.kept_not_counted == 6);
  add(none, TrialStatus::Valid, {"energy"});
  CHECK(store.load(plan, usualMatch()).trials.size() == 1);
}

TEST_CASE("digests of how metrics are read stay as stored trials have them") {
  using plan::CommandMetric;
  plan::Plan plan = twoPoints();
  plan::Command command;
  command.metrics = {
      {"step_time", CommandMetric::From::Regex, "", "took ([0-9]+) ms", 1e-3, false},
      {"middle", CommandMetric::From::Json, "out.json", "/times", 1e-3, false, CommandMetric::Take::Median}};
  plan.metrics.resize(1);
  plan.metrics.push_back(plan.metrics[0]);
  plan.metrics[1].name = "middle";
  plan.workloads = {{"", "tool", 1, command}};
  CHECK(keyOf(plan, plan.points[0].id, plan::TrialKind::Timed, usualMatch()).readings ==
        std::map<std::string, std::string>{{"step_time", "f95663c1f1cae4f3"}, {"middle", "03b0313457b365f4"}});
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
  CHECK(store.load(plan, match).trials.size() == 1);
  match.command->build = "command-2";
  CHECK(store.load(plan, match).trials.empty());
  match.command->build = "command-1";
  CHECK(store.load(plan, match).trials.size() == 1);
  plan.workloads[0].command->metrics[0].scale = 1e-3;
  const Results results = store.load(plan, match);
  CHECK(results.trials.empty());
  CHECK(has(results.not_counted_reasons.at(0), "the study now reads a metric"));

  // The kept output is read again: the same trial, under the new key, with the new value.
  Trial again = trialOf(plan, 0, filled.block, filled.session, 0, [&](TrialKey& changed) { changed = key(0); });
  again.id = 1;
  again.metrics["step_time"] = 0.25;
  llvm::cantFail(store.reread(again));
  REQUIRE(store.load(plan, match).trials.size() == 1);
  CHECK(store.load(plan, match).trials[0].metrics.at("step_time") == 0.25);
}

TEST_CASE("without a match the newest run's is taken") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
  CHECK(store.load(plan).trials.empty());
  addRun(store, filled.session, usualMatch());
  CHECK(store.load(plan).trials.size() == 1);
  Match newer = usualMatch();
  newer.built_in->build = "newer";
  addRun(store, filled.session, newer);
  CHECK(store.load(plan).trials.empty());
}

TEST_CASE("whether repetitions adapted is kept, and an older run that does not say so is asked by its plan") {
  TestFolder folder;
  plan::Plan plan = plan::examplePlan();
  plan.design.kinds[0].repeat_most = plan.design.kinds[0].repeat + 2;
  plan.design.kinds[0].until = {{"step_time", 0.01, true}};
  const plan::TrialKind kind = plan.design.kinds[0].kind;
  RunClaims older = *claimsOf(plan);
  older.planned.at(kind).adaptive.reset();
  const auto before = std::make_shared<const RunClaims>(older);
  {
    Store store = openWriter(folder.path);
    Run run;
    run.session = fill(store).session;
    for (const RunClaimsPtr& judged : {claimsOf(plan), before, RunClaimsPtr()})
      for (const std::string& text : {base::canonicalJson(plan::toJson(plan)), std::string("{}")}) {
        run.plan_json = text;
        const int64_t id = llvm::cantFail(store.addRun(run));
        llvm::cantFail(store.endRun(id, {102, 12}, {Outcome::Complete}, judged));
      }
    llvm::cantFail(store.close());
  }
  const std::vector<PastLook> looks = readBack(folder.path, twoPoints()).looks;
  REQUIRE(looks.size() == 6);
  const auto adapted = [&](size_t look) { return looks[look].judged->planned.at(kind).adaptive; };
  CHECK(adapted(0) == true);
  CHECK(adapted(1) == true);
  CHECK(adapted(2) == true);
  CHECK(adapted(3) == std::nullopt);  // nor is its plan read any more
  CHECK(looks[3].judged->subjects == older.subjects);
  CHECK(adapted(4) == true);
  CHECK_FALSE(looks[5].judged);
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
  CHECK(store.load(plan, usualMatch()).trials.size() == 1);
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
  auto trials = store.contents().trialsOf(block);
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
  CHECK(has(llvm::toString(std::move(error)), "lost its lock"));
  CHECK(has(errorOf(store.addBlock({})), "lost its lock"));
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
  CHECK(has(messages[0], "a run is in progress"));
  finish(writer, trialOf(plan, 1, filled.block, filled.session, 1));
  CHECK(reader.load(plan, usualMatch()).trials.size() == 1);
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  llvm::cantFail(writer.close());
  chmod(folder.path.c_str(), 0555);
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  chmod(folder.path.c_str(), 0755);
}

TEST_CASE("outcomes, notes and nodes of journals before version 3 are read") {
  // A line as it was, with the checksum that it had.
  const auto read = [](std::string text) {
    text += fmt::format(",\"sum\":\"{:08x}\"}}", llvm::crc32(llvm::arrayRefFromStringRef(text)));
    return entryFromLine(text);
  };
  const auto outcomeOf = [&](const std::string& outcome) {
    return std::get<RunEnded>(
               llvm::cantFail(read(R"({"at":[1,2],"entry":"run end","outcome":)" + outcome + R"(,"run":3)")))
        .outcome;
  };
  CHECK(outcomeOf(R"("complete")") == Outcome{Outcome::Complete});
  CHECK(outcomeOf(R"("out of time")") == Outcome{Outcome::OutOfTime});
  CHECK(outcomeOf(R"("complete after 8")") == Outcome{Outcome::AtLook, 8});
  CHECK(outcomeOf(R"("complete after ")") == Outcome{Outcome::AtLook});
  CHECK(outcomeOf(R"({"kind":"at look","repetitions":8})") == Outcome{Outcome::AtLook, 8});
  CHECK(has(errorOf(read(R"({"at":[1,2],"entry":"run end","outcome":"well","run":3)")), "'well'"));

  const std::string rest = R"(,"run":1,"session":1,"started":1,"trial":1)";
  const auto nodesOf = [&](const std::string& devices) {
    return std::get<TrialBegan>(llvm::cantFail(read(R"({"attempt":1,"block":1,"devices":)" + devices +
                                                    R"(,"entry":"begin","key":1,"limit":0,"position":0)" + rest)))
        .trial.nodes;
  };
  CHECK(nodesOf("[]") == 1);
  CHECK(nodesOf(R"([{"device":"cpu","node":"a"},{"device":"cpu","node":"b"},{"device":"cpu","node":"a"}])") == 2);
  CHECK(nodesOf(R"([{"node":"a"}],"nodes":4)") == 4);

  const Entry end = llvm::cantFail(
      read(R"({"at":[1,2],"entry":"end","environment":{},"notes":["slow; wait",{"code":"crowded","number":0.1}],)"
           R"("metrics":{},"seconds":1,"session":1,"status":"valid","trial":1)"));
  CHECK(std::get<TrialEnded>(end).trial.notes ==
        std::vector<plan::Note>{"slow; wait", plan::Note(plan::Note::Crowded, "", 0.1)});
}

TEST_CASE("a database without journals is refused, kept, and told what makes journals of it") {
  TestFolder folder;
  const std::string path = folder.path + "/expc.sqlite", text = "whatever an older expc wrote";
  std::ofstream(path) << text;
  std::vector<std::string> messages;
  for (const bool writing : {true, false}) {
    const std::string error =
        errorOf(writing ? Store::openForWriting(folder.path, messages) : Store::openForReading(folder.path, messages));
    CHECK(has(error, path));
    CHECK(has(error, "without journals"));
    CHECK(has(error, "expc store compact --results " + folder.path));
  }
  CHECK(std::filesystem::file_size(path) == text.size());
  CHECK(!std::filesystem::exists(folder.path + "/expc.lease"));
  CHECK(!std::filesystem::exists(folder.path + "/journal"));
}

TEST_CASE("what lies beside journals under the name of an older expc's index is neither read nor written") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  const std::string path = folder.path + "/expc.sqlite";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);  // whoever opened it would wait
  std::filesystem::create_directory(folder.path + "/journal");
  std::ofstream(folder.path + "/journal/000001.jsonl") << toLine(Opened{1, "name", {}, {}}) << '\n';
  Store store = openWriter(folder.path);
  const Filled filled = fill(store);
  finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
  llvm::cantFail(store.close());
  std::vector<std::string> said;
  CHECK(readBack(folder.path, plan, &said).trials.size() == 1);
  CHECK(said.empty());
  CHECK(std::filesystem::is_fifo(path));
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
  Results results = reader.load(plan, usualMatch());
  REQUIRE(results.trials.size() == 2);
  CHECK((results.trials[0].place() == plan::Place("aaaa")));
  CHECK((results.trials[1].place() == plan::Place("aaaa", "twice")));

  // A series that was asked for and is there; a derived metric, which no trial holds.
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, plan::TrialKind::Timed, false, true});
  plan.metrics.push_back({"double", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed});
  plan.metrics.back().derived = std::make_shared<const plan::Term>(plan::Term{plan::ConstantTerm{2}});
  CHECK(reader.load(plan, usualMatch()).trials.size() == 2);
  plan.metrics[1].name = "accuracy_curve";
  CHECK(reader.load(plan, usualMatch()).not_counted_reasons ==
        std::vector<std::string>{"2 trials: the metric accuracy_curve was not measured"});

  plan.metrics.resize(1);
  plan.controls.clear();
  results = reader.load(plan, usualMatch());
  CHECK(results.trials.size() == 1);
  CHECK(results.not_counted_reasons ==
        std::vector<std::string>{"1 trial: belongs to the control twice, which the plan does not have"});
}

TEST_CASE("what diverged is kept, and is not taken for what was never measured") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    Trial trial = trialOf(plan, 0, filled.block, filled.session, 0);
    trial.metrics = {{"step_time", NAN}, {"rate", -INFINITY}};
    trial.series["loss"] = {2, INFINITY, NAN};
    trial.environment_json = "{}";
    trial.id = llvm::cantFail(store.beginTrial(trial));
    trial.status = TrialStatus::Valid;
    llvm::cantFail(store.endTrial(trial, {trial.started + 1, 11}));
    llvm::cantFail(store.close());
  }
  std::vector<std::string> messages;
  Store reader = llvm::cantFail(Store::openForReading(folder.path, messages));
  const Results results = reader.load(plan, usualMatch());
  REQUIRE(results.trials.size() == 1);
  const Trial& back = results.trials[0];
  CHECK(std::isnan(back.metrics.at("step_time")));
  CHECK(back.metrics.at("rate") == -INFINITY);
  REQUIRE(back.series.at("loss").size() == 3);
  CHECK(back.series.at("loss")[1] == INFINITY);
  CHECK(std::isnan(back.series.at("loss")[2]));
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
  const auto classesOf = [](const Results& results) {
    std::set<std::string> classes;
    for (const Trial& trial : results.trials) classes.insert(trial.key->environment_class);
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
  CHECK(store.loadLatest(plan, true).onNullCards());
  CHECK(!store.load(plan).onNullCards());
  CHECK(store.load(plan).kept_not_counted == 2);
}

TEST_CASE("without a match a run counts that put as many blocks beside each other as the plan, and no other one") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  plan::Plan sharing = plan;
  sharing.design.share = 2;
  Store store = openWriter(folder.path);
  const auto ran = [&](const plan::Plan& of, const std::string& environment_class) {
    const Filled filled = fill(store);
    Run run;
    run.study = plan.study;
    run.session = filled.session;
    run.plan_json = base::canonicalJson(plan::toJson(of));
    run.match = usualMatch();
    run.match.built_in->environment_class = environment_class;
    llvm::cantFail(store.addRun(std::move(run)));
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0,
                          [&](TrialKey& key) { key.environment_class = environment_class; }));
  };
  ran(sharing, "beside");
  CHECK(store.load(sharing).trials.size() == 1);
  CHECK(store.load(plan).trials.empty());
  CHECK(store.load(plan).kept_not_counted == 1);
  CHECK(store.load(plan).not_counted_reasons ==
        std::vector<std::string>{"1 trial: the study was measured with --jobs 2: add -D design.share=2 to use them"});
  CHECK(store.latestRun(plan) == nullptr);
  ran(plan, "class");
  ran(sharing, "beside");
  REQUIRE(store.load(plan).trials.size() == 1);  // by the run between them, though it is not the newest
  CHECK(store.load(plan).trials[0].key->environment_class == "class");
  CHECK(store.load(sharing).trials.size() == 2);
  CHECK(store.loadLatest(plan, false).trials.size() == 1);
  ran(plan, "null-class");  // a rehearsal says nothing of what was measured otherwise
  CHECK(store.load(plan).trials[0].key->environment_class == "class");
  CHECK(loadPart(store, plan, {})->share == 2u);
}

TEST_CASE("a writer holds what its journals say, however the runs before it ended") {
  TestFolder folder;
  plan::Plan plan = twoPoints();
  for (unsigned run = 0; run < 3; ++run) {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    addRun(store, filled.session, usualMatch());
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0), TrialStatus::Failed);
    finish(store, trialOf(plan, 1, filled.block, filled.session, 1));
    llvm::cantFail(store.beginTrial(trialOf(plan, 1, filled.block, filled.session, 2)));
    std::vector<std::string> messages;
    CHECK(contentText(store) == contentText(llvm::cantFail(Store::openForReading(folder.path, messages))));
    if (run != 1) llvm::cantFail(store.close());  // one of them dies
  }
  openWriter(folder.path);  // the runs that nobody ended are marked
  const std::string text = contentText(openWriter(folder.path));
  CHECK(has(text, "killed"));
  CHECK(text == contentText(openWriter(folder.path)));
}

TEST_CASE("what refers to nothing, or says twice what can be said once, is left out and told") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    const Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    llvm::cantFail(store.close());
  }
  Session again;
  again.id = 1;
  again.environment_json = "{}";
  Trial there, nowhere;
  there.id = 1;
  there.environment_json = nowhere.environment_json = "{}";
  there.devices = nowhere.devices = "[]";
  there.status = TrialStatus::Valid;
  there.block = there.session = 1;
  nowhere.id = nowhere.block = nowhere.session = 9;
  Run run;
  run.session = 1;
  Trial second = there;  // of the same place and attempt
  second.id = 2;
  Trial stray = there;  // of a run that is not there
  stray.id = stray.position = stray.run = 3;
  const std::vector<Entry> wrong = {
      again,
      Seen{9, {}},
      RunBegan{run, "nowhere"},
      RunEnded{9, {}, {Outcome::Complete}, nullptr},
      BlockPlan{{9, "test", plan::TrialKind::Timed, 0, 0, 9}, "{}", {}},
      KeyAdded{1, {}},
      TrialBegan{nowhere, 1},
      TrialBegan{there, 1},
      TrialBegan{second, 1},
      TrialBegan{stray, 1},
      TrialEnded{nowhere, {}},
      TrialEnded{there, {}},
      Reread{nowhere, 1},
  };
  {
    std::ofstream journal(folder.path + "/journal/000001.jsonl", std::ios::app);
    for (const Entry& entry : wrong) journal << toLine(entry) << '\n';
  }
  std::vector<std::string> said;
  CHECK(readBack(folder.path, plan, &said).trials.size() == 1);
  REQUIRE(said.size() == 1);
  CHECK(has(said[0], fmt::format("{} entries refer to missing records, or repeat one", wrong.size())));
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
  std::string text = contentOf(journal);
  const size_t at = text.find("\"step_time\":0.5");
  REQUIRE(at != std::string::npos);
  text[at + 14] = '9';
  std::ofstream(journal, std::ios::binary) << text;
  std::vector<std::string> messages;
  const Results results = readBack(folder.path, plan, &messages);
  CHECK(results.trials.size() == 1);
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "000001.jsonl line"));
  CHECK(has(messages[0], "checksum"));
}

TEST_CASE("of a run that cannot be read, or whose plan cannot be, no trial counts") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    const Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    Trial trial = trialOf(plan, 1, filled.block, filled.session, 1);
    trial.run = addRun(store, filled.session, usualMatch());
    finish(store, trial);
    llvm::cantFail(store.close());
  }
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  const std::string journal = folder.path + "/journal/000001.jsonl", text = contentOf(journal);
  for (const char* entry : {"\"entry\":\"run\"", "\"entry\":\"plan\""}) {
    std::string damaged = text;
    damaged.at(text.find('\n', text.find(entry)) - 3) ^= 1;  // in its checksum
    std::ofstream(journal, std::ios::binary) << damaged;
    std::vector<std::string> messages;
    CHECK(readBack(folder.path, plan, &messages).trials.size() == 1);
    REQUIRE(messages.size() == 1);
    CHECK(has(messages[0], "checksum"));
  }
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
  // The writer looked at its lease, slept, and writes now.
  std::string late = toLine(BlockPlan{{9, "test", plan::TrialKind::Timed, 9, 9, 1}, "{}", {"aaaa"}}) + "\n";
  std::ofstream(journal, std::ios::app | std::ios::binary) << late;
  CHECK(std::filesystem::file_size(journal) > before);
  CHECK(readBack(folder.path, plan).trials.size() == 2);
  Store store = openWriter(folder.path);
  CHECK(store.contents().blocks.size() == 2);
}

TEST_CASE("a journal that was removed, replaced or cut is written again, with all that was measured") {
  const plan::Plan plan = twoPoints();
  using Harm = void (*)(const std::string& journal);
  const Harm harms[] = {
      [](const std::string& journal) { std::filesystem::remove(journal); },
      [](const std::string& journal) { std::filesystem::resize_file(journal, 100); },
      [](const std::string& journal) {  // an older copy, and what is no journal of that name
        std::filesystem::copy_file(journal, journal + ".copy");
        std::filesystem::resize_file(journal + ".copy", 500);
        std::filesystem::rename(journal + ".copy", journal);
      },
      [](const std::string& journal) {
        std::filesystem::remove(journal);
        std::ofstream(journal) << toLine(Seen{1, {}}) << "\n";
      },
  };
  for (const Harm harm : harms) {
    TestFolder folder;
    std::vector<std::string> news;
    {
      Store store = openWriter(folder.path);
      store.onNews([&](const std::string& text) { news.push_back(text); });
      Filled filled = fill(store);
      finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
      harm(folder.path + "/journal/000001.jsonl");
      finish(store, trialOf(plan, 1, filled.block, filled.session, 1));
      llvm::cantFail(store.close());
    }
    REQUIRE(news.size() == 1);
    CHECK(has(news[0], "/journal/000001.jsonl was removed or changed"));
    CHECK(has(news[0], "/journal/000002.jsonl now"));
    CHECK(readBack(folder.path, plan).trials.size() == 2);
    const Verified verified = llvm::cantFail(verify(folder.path));
    CHECK(verified.damage.empty());
    CHECK(verified.trials == 2);
    llvm::cantFail(openWriter(folder.path).close());
    CHECK(readBack(folder.path, plan).trials.size() == 2);
  }
}

TEST_CASE("a journal that is gone at the end of a run is written again, and earlier ones are missed") {
  TestFolder folder;
  const plan::Plan plan = twoPoints();
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    llvm::cantFail(store.close());
  }
  std::vector<std::string> news;
  {
    Store store = openWriter(folder.path);
    store.onNews([&](const std::string& text) { news.push_back(text); });
    Filled filled = fill(store);
    finish(store, trialOf(plan, 1, filled.block, filled.session, 0));
    std::filesystem::remove_all(folder.path + "/journal");
    llvm::cantFail(store.close());
  }
  REQUIRE(news.size() == 1);
  CHECK(has(news[0], "000001.jsonl: is missing"));
  CHECK(readBack(folder.path, plan).trials.size() == 1);
  CHECK(llvm::cantFail(verify(folder.path)).damage.size() == 1);
}

TEST_CASE("what was measured into a folder that was removed is kept where temporary files go") {
  TestFolder folder, temporary;
  const plan::Plan plan = twoPoints();
  setenv("TMPDIR", temporary.path.c_str(), 1);
  {
    Store store = openWriter(folder.path + "/results");
    Filled filled = fill(store);
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    std::thread remover([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::filesystem::remove_all(folder.path + "/results");
    });
    const std::string error = llvm::toString(store.explainLoss(failure("a log is gone")));
    remover.join();
    CHECK(has(error, "disappeared during the run"));
    CHECK(has(error, "kept in the results folder " + temporary.path));
    llvm::consumeError(store.close());
  }
  const auto kept = std::filesystem::directory_iterator(temporary.path)->path().string();
  CHECK(readBack(kept, plan).trials.size() == 1);
  unsetenv("TMPDIR");
}

TEST_CASE("what a store makes has the permissions that the umask leaves") {
  TestFolder folder;
  const mode_t before = umask(002);
  Store store = openWriter(folder.path + "/results");
  fill(store);
  std::vector<std::string> messages;
  llvm::cantFail(exportSql(folder.path + "/results", folder.path + "/results/all.sqlite", messages));
  umask(before);
  for (const auto& made : std::filesystem::recursive_directory_iterator(folder.path + "/results")) {
    CAPTURE(made.path().string());
    CHECK((made.status().permissions() & std::filesystem::perms::group_all) >= std::filesystem::perms(060));
    CHECK((made.status().permissions() & std::filesystem::perms::others_write) == std::filesystem::perms::none);
  }
}

TEST_CASE("what was spooled comes too late once another user has gone on, and that is told") {
  TestFolder folder, spool, others;
  const plan::Plan plan = twoPoints();
  setenv("TMPDIR", spool.path.c_str(), 1);
  {
    Store store = openWriter(folder.path);
    Filled filled = fill(store);
    disk_is_broken = true;
    finish(store, trialOf(plan, 0, filled.block, filled.session, 0));
    llvm::consumeError(store.sync());
    disk_is_broken = false;
    llvm::cantFail(store.close());
  }
  setenv("TMPDIR", others.path.c_str(), 1);
  llvm::cantFail(openWriter(folder.path).close());
  setenv("TMPDIR", spool.path.c_str(), 1);
  std::vector<std::string> messages;
  llvm::cantFail(llvm::cantFail(Store::openForWriting(folder.path, messages)).close());
  REQUIRE(messages.size() == 1);
  CHECK(has(messages[0], "1 trial in " + spool.path));
  CHECK(has(messages[0], "came too late"));
  CHECK(std::filesystem::is_empty(spool.path));
  unsetenv("TMPDIR");
}

TEST_CASE("a spool that cannot be written leaves nothing") {
  TestFolder folder, spool;
  const plan::Plan plan = twoPoints();
  setenv("TMPDIR", spool.path.c_str(), 1);
  Store store = openWriter(folder.path);
  Filled filled = fill(store);
  Trial trial = trialOf(plan, 0, filled.block, filled.session, 0);
  trial.id = llvm::cantFail(store.beginTrial(trial));
  trial.status = TrialStatus::Valid;
  trial.environment_json = "{}";
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{10, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  llvm::Error error = store.endTrial(trial, {101, 11});
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(has(llvm::toString(std::move(error)), "is lost"));
  CHECK(std::filesystem::is_empty(spool.path));
  unsetenv("TMPDIR");
}

TEST_CASE("a results folder that is a link to nowhere is named with where it leads") {
  TestFolder folder;
  std::filesystem::create_symlink("/nowhere/at/all", folder.path + "/results");
  CHECK(has(llvm::toString(files::makeFolder(folder.path + "/results")),
            "is a link to '/nowhere/at/all', which does not exist"));
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
  const Results results = store.load(plan, usualMatch());
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
    // No file may grow beyond the journal's present size; the spool starts empty, so it may.
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
    CHECK(store.load(plan, usualMatch()).trials.size() == 1);
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
    // Only the next call asks whether the disk has it.
    finish(store, trialOf(plan, is_followed, filled.block, filled.session, 0));
    if (is_followed) llvm::cantFail(store.beginTrial(trialOf(plan, 0, filled.block, filled.session, 1)));
    llvm::Error error = store.sync();
    disk_is_broken = false;
    REQUIRE(bool(error));
    const std::string text = llvm::toString(std::move(error));
    CHECK(has(text, "Input/output error"));
    CHECK(has(text, spool.path));
    llvm::cantFail(store.sync());  // it was told
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
    llvm::Error error = store.endRun(1, {102, 12}, {Outcome::Complete});
    REQUIRE(bool(error));
    CHECK(has(llvm::toString(std::move(error)), spool.path));
    llvm::cantFail(store.close());
  }
  llvm::cantFail(openWriter(folder.path).close());
  CHECK(readBack(folder.path, plan).trials.size() == 1);
  unsetenv("TMPDIR");
}

TEST_CASE("a link in the place of a journal is not followed") {
  TestFolder folder;
  {
    Store store = openWriter(folder.path);
    fill(store);
    llvm::cantFail(store.close());
  }
  std::filesystem::rename(folder.path + "/journal/000001.jsonl", folder.path + "/one");
  std::filesystem::create_symlink(folder.path + "/one", folder.path + "/journal/000001.jsonl");
  std::vector<std::string> messages;
  CHECK(has(errorOf(Store::openForReading(folder.path, messages)), "000001.jsonl"));
}

TEST_CASE("a journal that names its store after a file elsewhere is refused") {
  auto entry = entryFromLine(toLine(Opened{1, "../../x", {}, {}}));
  REQUIRE(!entry);
  CHECK(has(llvm::toString(entry.takeError()), "begins with a dot"));
}
