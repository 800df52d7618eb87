// Runs with the null worker of everything that a design can ask for: controls, budgets, adaptive repetition, series,
// points that are expected infeasible.

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "runtime/judge/cells.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "tests/support/engine/run.h"

using namespace expc;
using namespace expc::engine;

TEST_CASE("a control is a trial of its own in every timed block") {
  TestFolder folder;
  const EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(2, 3);
  plan.controls = {{"twice", plan.points[0].id}};
  CHECK(runPlan(plan, options).valid == 9);
  const store::Results results = resultsOf(plan, options);
  REQUIRE(results.trials.size() == 9);
  std::set<int64_t> blocks;
  for (const store::Trial& trial : results.trials) {
    if (trial.key->place.control.empty()) continue;
    CHECK(trial.key->place.control == "twice");
    CHECK(trial.key->place.point == plan.points[0].id);
    CHECK(blocks.insert(trial.block).second);
  }
  CHECK(blocks.size() == 3);
  CHECK((runPlan(plan, options).ending == Ending::NothingToDo));
  // A plan without the control keeps its trials and does not count them.
  plan.controls.clear();
  CHECK(resultsOf(plan, options).trials.size() == 6);
  CHECK(resultsOf(plan, options).kept_not_counted == 3);
}

TEST_CASE("a budget ends a run at the end of a block, and a larger one goes on") {
  TestFolder folder;
  const EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(2, 4);
  plan.design.budget_seconds = 1e-6;
  Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::BudgetSpent));
  CHECK(outcome.valid == 2);
  CHECK(says(outcome, "is used up"));
  CHECK(says(outcome, "-D design.budget="));
  CHECK(!says(outcome, "has no interval"));  // no claim wants one
  // A second run has no budget left: the time of earlier trials counts.
  outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::BudgetSpent));
  CHECK(outcome.trials == 0);
  plan.design.budget_seconds = 3600;
  outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 6);
}

TEST_CASE("a budget that ends before the first interval is said as soon as a block shows it") {
  TestFolder folder;
  const EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(2, 8);
  plan::Criterion claim;
  claim.name = "claim";
  claim.text = "step_time <= 1s";
  claim.cells = {judge::cellOf(plan.metrics[0], plan.points[0].id)};
  claim.bound = {plan::Relation::LessEqual, 1, 0, "<= 1s"};
  claim.confidence = 0.95;
  claim.claim = {plan::Claim::Kind::Cell, {}, 0};
  plan.criteria = {claim};
  plan.design.budget_seconds = 1e-6;
  CHECK(says(runPlan(plan, options), "timed blocks, but claim needs 6 for an interval: raise it"));
  plan.design.budget_seconds = 3600;
  CHECK(!says(runPlan(plan, options), "has no interval"));
}

TEST_CASE("no block is begun that would not be over before the allocation, and one without any block is an error") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  const plan::Plan plan = nullPlan(2, 3);
  options.ends_at = options.clock->boot() + kBeforeEnd - 1;
  ProgressListener progress;
  auto outcome = run(plan, options, progress);
  REQUIRE(!outcome);
  CHECK(llvm::toString(outcome.takeError()).find("the allocation is too short for one block") != std::string::npos);
  CHECK(resultsOf(plan, options).trials.empty());
  // A block that ends in time is measured. If nothing is left to measure, the end of the allocation does not matter.
  options.ends_at = options.clock->boot() + kBeforeEnd + 3600;
  CHECK((runPlan(plan, options).ending == Ending::Complete));
  options.ends_at = options.clock->boot();
  CHECK((runPlan(plan, options).ending == Ending::NothingToDo));
}

TEST_CASE("adaptive repetition runs whole blocks until the interval is narrow, and says so") {
  TestFolder folder;
  const EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(2, 7);
  plan.design.kinds[0].repeat_most = 8;
  plan.design.kinds[0].until = {{"step_time", 1e-9, true}};
  Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 16);
  CHECK(says(outcome, "after 7 of at most 8 blocks: half-width of step_time"));
  // A wide limit is met by the least number of repetitions.
  TestFolder other;
  const EngineOptions elsewhere = optionsFor(other);
  plan.design.kinds[0].until[0].half_width = 10;
  CHECK(runPlan(plan, elsewhere).valid == 14);
  const judge::Judgement judgement = judge::judge(plan, resultsOf(plan, elsewhere));
  REQUIRE(judgement.untils.size() == 1);
  CHECK(judgement.untils[0].met);
}

TEST_CASE("a series that was asked for is stored and read back") {
  TestFolder folder;
  const EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(1, 1);
  plan.metrics = {{"loss", "", "", plan::Direction::Lower, plan::TrialKind::Quality, false, true}};
  plan.metrics.push_back({"epochs", "", "", plan::Direction::Lower, plan::TrialKind::Quality});
  plan.metrics.back().derived = std::make_shared<const plan::Term>(
      plan::Term{plan::FirstTerm{{"loss", ""}, {plan::Relation::LessEqual, 0.5, 0, "<= 0.5"}}});
  plan.design.kinds = {{plan::TrialKind::Quality, 2, 2, {}, llvm::json::Object{{"epochs", 3}}}};
  CHECK(runPlan(plan, options).valid == 2);
  const store::Results results = resultsOf(plan, options);
  REQUIRE(results.trials.size() == 2);
  CHECK(results.trials[0].series.at("loss") == std::vector<double>{1, 0.5, 0.25});
  CHECK(results.trials[0].not_on_device.empty());
  const judge::Judgement judgement = judge::judge(plan, results);
  CHECK(judgement.find(plan.points[0].id, "epochs")->median == 2);
  CHECK(judgement.find(plan.points[0].id, "loss")->median == 0.25);
}

TEST_CASE("what is expected infeasible starts only when asked to") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(2, 2);
  plan.points[1].expected_infeasible = "needs 120 GiB, a card has 94 GB";
  plan.points[1].parameters["fault"] = "out_of_memory";
  Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 2);
  CHECK(outcome.infeasible == 0);
  CHECK(says(outcome, "1 point is estimated not to fit in memory and skipped (needs 120 GiB, a card has 94 GB)"));
  options.try_infeasible = true;
  outcome = runPlan(plan, options);
  CHECK(outcome.infeasible == 2);
  CHECK(says(outcome, "run anyway"));

  plan.points[0].expected_infeasible = "needs more";
  options.try_infeasible = false;
  ProgressListener listener;
  auto refused = run(plan, options, listener);
  REQUIRE(!refused);
  CHECK(llvm::toString(refused.takeError()).find("nothing to run: 2 points are estimated not to fit in memory") == 0);
}

TEST_CASE("profile trials are scheduled like others, with their own settings") {
  TestFolder folder;
  const EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(1, 1);
  plan.metrics.push_back({"launch_time", "time", "s", plan::Direction::Lower, plan::TrialKind::Profile});
  plan.design.kinds.push_back({plan::TrialKind::Profile, 2, 2, {}, llvm::json::Object{{"steps", 3}, {"warmup", 1}}});
  CHECK(runPlan(plan, options).valid == 3);
  unsigned profiled = 0;
  for (const store::Trial& trial : resultsOf(plan, options).trials) {
    if (trial.key->kind != plan::TrialKind::Profile) continue;
    ++profiled;
    CHECK(trial.key->settings == R"({"steps":3,"warmup":1})");
    CHECK(trial.not_on_device == std::vector<std::string>{"launch_time"});
  }
  CHECK(profiled == 2);
}

TEST_CASE("a workload that the worker lacks is one clear line before any trial") {
  TestFolder folder;
  const EngineOptions options = optionsFor(folder);
  plan::Plan plan = nullPlan(1, 1);
  plan.workloads[0].name = "llm.finetune";
  ProgressListener listener;
  auto refused = run(plan, options, listener);
  REQUIRE(!refused);
  const std::string text = llvm::toString(refused.takeError());
  CHECK(text.find("llm.finetune version 1 is not in this build of expc-worker-null") == 0);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(!std::filesystem::exists(options.results));
}
