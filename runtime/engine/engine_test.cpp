// Runs with the null worker: real processes, a real store, no torch.

#include "runtime/engine/engine.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "runtime/machine/probe.h"
#include "tests/support/engine/run.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::engine;

namespace {

std::string errorOf(const plan::Plan& plan, const EngineOptions& options) {
  ProgressListener listener;
  auto outcome = run(plan, options, listener);
  REQUIRE(!outcome);
  return llvm::toString(outcome.takeError());
}

using expc::test::has;

/// A plan whose only point has a fault.
plan::Plan faulty(const char* fault, unsigned gpus = 1, unsigned rank = 0) {
  plan::Plan plan = nullPlan(1, 1);
  plan.points[0].parameters["fault"] = fault;
  plan.points[0].parameters["gpus"] = gpus;
  plan.points[0].parameters["fault_rank"] = rank;
  return plan;
}

}  // namespace

TEST_CASE("a plan runs to its end, in blocks of equal seed, and then has nothing to do") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(3, 4, true);
  Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 15);
  store::Results results = resultsOf(plan, options);
  REQUIRE(results.trials.size() == 15);
  CHECK(results.blocks.size() == 5);
  CHECK(results.sessions.size() == 1);
  std::map<int64_t, std::set<std::string>> points_of;
  std::set<std::vector<unsigned>> orders;
  for (const store::Trial& trial : results.trials) {
    CHECK(points_of[trial.block].insert(trial.key->place.point).second);
    bool timed = trial.key->kind == plan::TrialKind::Timed;
    CHECK(trial.metrics.count("step_time") == timed);
    CHECK(trial.not_on_device.size() == timed);
  }
  for (const auto& [block, points] : points_of) CHECK(points.size() == 3);

  outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::NothingToDo));
  CHECK(outcome.trials == 0);
  CHECK(outcome.reused == 15);
}

TEST_CASE("more repetitions and more points continue what is there") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  runPlan(nullPlan(2, 2), options);
  Ran outcome = runPlan(nullPlan(2, 4), options);
  CHECK(outcome.trials == 4);
  CHECK(outcome.reused == 4);
  outcome = runPlan(nullPlan(3, 4), options);
  CHECK(outcome.trials == 4);  // no cell pairs the points: only the new one is run
  plan::Plan other = nullPlan(2, 2);
  other.design.kinds[0].settings["steps"] = 6;
  outcome = runPlan(other, options);
  CHECK(outcome.trials == 4);
  CHECK(says(outcome, "stored but ignored: 8 trials: measured with other settings"));
}

TEST_CASE("two devices make two ranks, and too many are not available") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  options.devices = "1";
  plan::Plan plan = nullPlan(2, 2);
  plan.points[1].parameters["gpus"] = 2;
  Ran outcome = runPlan(plan, options);
  CHECK(outcome.trials == 2);
  CHECK((outcome.ending == Ending::Complete));
  plan.points[0].parameters["gpus"] = 2;
  CHECK(has(errorOf(plan, options), "none of the 2 points can run"));
}

TEST_CASE("whatever a worker does wrong ends its trial with the reason, not the run") {
  struct Case {
    const char* fault;
    store::TrialStatus status;
    const char* reason;
  };
  const Case cases[] = {
      {"exit", store::TrialStatus::Failed, "the worker exited with code 7"},
      {"abort", store::TrialStatus::Failed, "the worker was killed by signal 6 (Aborted)"},
      {"garbage", store::TrialStatus::Failed, "the worker wrote a line that is not an event: 'step 3 of 10, loss nan'"},
      {"silent", store::TrialStatus::Failed, "the worker ended without a result"},
      {"refuse", store::TrialStatus::Failed, "null.idle was asked to fail"},
      {"late_exit", store::TrialStatus::Failed, "the worker exited with code 9"},
      {"missing_metric", store::TrialStatus::Failed, "has no metric step_time"},
      {"out_of_memory", store::TrialStatus::Infeasible, "out of memory, as asked"},
      {"hang", store::TrialStatus::Timeout, "not finished after 0.3 s"},
      {"flood", store::TrialStatus::Timeout, "not finished after 0.3 s"},
      {"late_hang", store::TrialStatus::Failed, "did not end within 1 s of the result"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.fault);
    TestFolder folder;
    EngineOptions options = optionsFor(folder);
    options.timeout = 0.3;
    plan::Plan plan = faulty(one.fault);
    Ran outcome = runPlan(plan, options);
    store::Results results = resultsOf(plan, options);
    REQUIRE(!results.trials.empty());
    CHECK((results.trials[0].status == one.status));
    CHECK(has(results.trials[0].reason, one.reason));
    INFO(results.trials[0].reason);
    CHECK(outcome.valid == 0);
    if (one.status == store::TrialStatus::Failed) {
      CHECK((outcome.ending == Ending::Incomplete));
      CHECK(results.trials[1].attempt == 2);
      CHECK(results.trials[1].block == results.trials[0].block);
    }
    if (std::string_view(one.fault) == "exit") CHECK(has(results.trials[0].log_tail, "the last words of rank 0"));
  }
}

TEST_CASE("a rank that dies takes its siblings with it and is the one that is blamed") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  options.devices = "cpu:2";
  options.attempts = 1;
  auto machine = machine::probe();
  if (machine.allowed.size() < 2) {
    MESSAGE("one core: not tested");
    return;
  }
  plan::Plan plan = faulty("abort", 2, 1);
  plan.points[0].parameters["duration"] = 0.05;
  runPlan(plan, options);
  store::Results results = resultsOf(plan, options);
  REQUIRE(!results.trials.empty());
  CHECK(results.trials[0].reason == "rank 1 was killed by signal 6 (Aborted): rank 1 of 2, fault abort");
}

TEST_CASE("a rank that says why weighs more than those that only noticed, who speak first") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  options.devices = "cpu:2";
  options.attempts = 1;
  if (machine::probe().allowed.size() < 2) {
    MESSAGE("one core: not tested");
    return;
  }
  plan::Plan plan = faulty("leave", 2, 1);
  runPlan(plan, options);
  store::Results results = resultsOf(plan, options);
  REQUIRE(!results.trials.empty());
  CHECK(results.trials[0].reason == "rank 1: null.idle was asked to leave");
}

TEST_CASE("a failed attempt is repeated, and one that works is enough") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(2, 6);
  for (plan::Point& point : plan.points) {
    point.parameters["fault"] = "exit";
    point.parameters["fault_rate"] = 0.3;
  }
  options.attempts = 8;
  Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 12);
  CHECK(outcome.failed > 0);
}

TEST_CASE("what can be refused is refused before the first trial") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(1, 1);
  plan.workloads[0].version = 2;
  CHECK(has(errorOf(plan, options), "null.idle version 2 is not in this build"));
  plan.workloads[0].version = 1;
  plan.data_paths = {"no/such/data"};
  CHECK(has(errorOf(plan, options), "/tmp/no/such/data"));
  plan.data_paths.clear();
  options.devices = "nine";
  CHECK(has(errorOf(plan, options), "--devices nine"));
  options.devices = "";
  options.worker = "/no/such/worker";
  CHECK(has(errorOf(plan, options), "build it with `make`"));
  options.worker = "/bin/true";
  CHECK(has(errorOf(plan, options), "not print the description of a worker"));
  options.worker = "/bin/false";
  CHECK(has(errorOf(plan, options), "does not run"));
  CHECK(!std::filesystem::exists(options.results));
}

TEST_CASE("changed data makes old trials not count") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(1, 1);
  plan.root = folder.path;
  plan.data_paths = {"data"};
  plan.points[0].parameters["data"] = llvm::json::Object{{"folder", llvm::json::Array{"data"}}};
  std::filesystem::create_directories(folder.path + "/data/sub");
  std::ofstream(folder.path + "/data/sub/a") << "one";
  CHECK(runPlan(plan, options).trials == 1);
  CHECK(runPlan(plan, options).trials == 0);
  std::ofstream(folder.path + "/data/sub/a") << "two";
  CHECK(runPlan(plan, options).trials == 1);
  // Trials on made-up data say so, and verdicts repeat their notes.
  CHECK(resultsOf(plan, options).trials.back().notes.empty());
  std::ofstream(folder.path + "/data/MADE_UP") << "";
  CHECK(runPlan(plan, options).trials == 1);
  CHECK(resultsOf(plan, options).trials.back().notes == std::vector<plan::Note>{{plan::Note::MadeUp, "data"}});
}
