// Controls: the same twice in a block, and what that says of the verdicts.

#include <doctest/doctest.h>

#include "runtime/judge/meaning.h"
#include "runtime/judge/needs.h"
#include "tests/support/judge/study.h"

namespace expc::judge {
namespace {

using namespace test;

/// fp32 is claimed to be `bound` times as fast; a control on fp64-1.
plan::Plan controlled(double bound = 1.2) {
  plan::Plan plan = study();
  plan.controls = {{"twice", "fp64-1"}};
  plan.criteria.push_back(criterion(gainCells(), atLeast(bound, "it"), "x", 0.95));
  return plan;
}

/// Seven blocks in which the control takes `factor` times as long as its point, give or take `spread`.
Records measured(double factor, double spread = 0.004) {
  Records records;
  records.pairs(7, 1.5);
  for (int b = 1; b <= 7; ++b) {
    double original = 0;
    for (const store::Trial& trial : records.results.trials)
      if (trial.place() == "fp64-1" && trial.block == b) original = trial.metrics.at("step_time");
    records.timed({"fp64-1", "twice"}, b, original * factor * (1 + spread * ((b * 3) % 7 - 3) / 3.0));
  }
  return records;
}

}  // namespace

TEST_CASE("a control within half the smallest gap leaves verdicts trusted") {
  const Judgement judgement = judge(controlled(), measured(1.01).results);
  REQUIRE(judgement.controls.size() == 1);
  const ControlResult& control = judgement.controls[0];
  CHECK(control.metric == "step_time");
  CHECK(*control.margin == doctest::Approx(0.1));
  CHECK(*control.estimate.estimate == doctest::Approx(1.01).epsilon(0.005));
  CHECK(control.estimate.scope.complete == 7);
  CHECK_FALSE(control.untrusted);
  CHECK_FALSE(judgement.criteria[0].untrusted);
  CHECK(word(judgement.criteria[0].verdict) == "pass");
  CHECK(meaningOf(judgement.criteria[0]).exit_code == 0);
}

TEST_CASE("a control that leaves it makes the verdict untrusted, and undecided for exit codes") {
  const Judgement judgement = judge(controlled(), measured(1.15).results);
  CHECK(judgement.controls[0].untrusted);
  CHECK(word(judgement.criteria[0].verdict) == "pass");
  REQUIRE(judgement.criteria[0].untrusted);
  CHECK(judgement.criteria[0].untrusted->gap == doctest::Approx(0.2));
  CHECK(judgement.criteria[0].untrusted->own);
  CHECK(judgement.criteria[0].untrusted->control.name == "twice");
  CHECK(exitCode(judgement) == 4);
  // A failing verdict is no more to be trusted.
  const Judgement failing = judge(controlled(1.8), measured(1.45).results);
  CHECK(word(failing.criteria[0].verdict) == "fail");
  CHECK(failing.criteria[0].untrusted);
  CHECK(exitCode(failing) == 4);
  // An undecided verdict leaves nothing to trust.
  const Judgement undecided = judge(controlled(1.5), measured(1.4).results);
  CHECK(word(undecided.criteria[0].verdict) == "inconclusive");
  CHECK(undecided.controls[0].untrusted);
  CHECK_FALSE(undecided.criteria[0].untrusted);
}

TEST_CASE("a control that shows no difference, and excludes none, is noted and leaves the verdict trusted") {
  const Judgement judgement = judge(controlled(1.02), measured(1, 0.03).results);
  const CriterionResult& result = judgement.criteria[0];
  CHECK(word(result.verdict) == "pass");
  CHECK_FALSE(result.untrusted);
  CHECK_FALSE(judgement.controls[0].untrusted);
  REQUIRE(result.unshown);
  CHECK(result.unshown->gap == doctest::Approx(0.02));
  CHECK_FALSE(result.next);
  CHECK(meaningOf(result).exit_code == 0);
  CHECK_FALSE(judge(controlled(), measured(1).results).criteria[0].unshown);
}

TEST_CASE("a criterion is held to the gap that it claims, one that claims none to the smallest of all") {
  plan::Plan plan = controlled(1.2);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.0, "1.0x"), "x", 0.95));
  CHECK(*judge(plan, measured(1).results).controls[0].margin == doctest::Approx(0.1));
  plan.criteria.push_back(criterion(gainCells(), {Relation::Within, 0.98, 1.6, "a band"}, "x", 0.95));
  const Judgement judgement = judge(plan, measured(1.03).results);
  CHECK(*judgement.controls[0].margin == doctest::Approx(0.01));
  CHECK_FALSE(judgement.criteria[0].untrusted);
  CHECK(judgement.criteria[1].untrusted);
  CHECK(judgement.criteria[2].untrusted);
}

TEST_CASE("a band claims half its width, wherever it lies") {
  plan::Plan plan = controlled();
  plan.criteria[0].bound = {Relation::Within, 1.4, 1.6, "within 1.4x..1.6x"};
  CHECK(*judge(plan, measured(1).results).controls[0].margin == doctest::Approx(0.05));
}

TEST_CASE("control trials are no trials of the point") {
  const plan::Plan plan = controlled();
  const Judgement judgement = judge(plan, measured(2).results);
  CHECK(judgement.find("fp64-1", "step_time")->n == 7);
  for (const PointStatus& status : judgement.points)
    if (status.point == "fp64-1" && status.kind == TrialKind::Timed) CHECK(status.valid == 7);
}

TEST_CASE("too few blocks judge nothing") {
  Records records = measured(1.15);
  std::erase_if(records.results.trials, [](const store::Trial& trial) { return trial.block > 5; });
  const Judgement judgement = judge(controlled(), records.results);
  CHECK_FALSE(judgement.controls[0].untrusted);
  CHECK(is(judgement.controls[0].estimate.why, Reason::TooFew, {6, 95, 5}));
}

TEST_CASE("a control runs once in every timed block, beside its point") {
  plan::Plan plan = controlled();
  Records records;
  const auto first = nextBlock(Index(plan, records.results), TrialKind::Timed);
  CHECK(first.size() == 7);
  CHECK(first.back() == plan::Place("fp64-1", "twice"));
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Quality).size() == 6);
  CHECK(remaining(Index(plan, records.results), TrialKind::Timed).trials == 49);
  const auto runAll = [&](int64_t block, const std::vector<plan::Place>& wanted) {
    for (const plan::Place& place : wanted) records.timed(place, block, 0.1);
  };
  for (int64_t block = 1; block <= 7; ++block) runAll(block, nextBlock(Index(plan, records.results), TrialKind::Timed));
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Timed).empty());
  // A lost trial of the control asks for both again.
  records.results.trials.back().status = TrialStatus::Failed;
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Timed) ==
        std::vector<plan::Place>{"fp64-1", {"fp64-1", "twice"}});
}

}  // namespace expc::judge
