// Derived metrics, series and comparisons of comparisons, from records to estimates.

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/describe/description.h"
#include "tests/support/judge/study.h"

namespace expc::describe {
namespace {

using namespace judge::test;

/// `study` with a derived share of each kind of arithmetic and a series of losses.
plan::Plan derived() {
  plan::Plan plan = study(7, 7);
  const auto here = [](const char* name) { return metric(name, ""); };
  plan.metrics.push_back({"launch_time", "time", "s"});
  plan.metrics.push_back(
      {"launch_share", "share", "", plan::Direction::Lower, TrialKind::Timed, false, false,
       term(plan::OperationTerm{plan::OperationTerm::Op::Quotient, {here("launch_time"), here("step_time")}}),
       "launch_time / step_time"});
  plan.metrics.push_back(
      {"rest", "time", "s", plan::Direction::Lower, TrialKind::Timed, false, false,
       term(plan::OperationTerm{
           plan::OperationTerm::Op::Difference,
           {term(plan::OperationTerm{plan::OperationTerm::Op::Sum, {here("step_time"), here("launch_time")}}),
            term(plan::OperationTerm{plan::OperationTerm::Op::Product,
                                     {term(plan::ConstantTerm{2}), here("launch_time")}})}}),
       "step_time + launch_time - 2 * launch_time"});
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, TrialKind::Quality, false, true});
  plan.metrics.push_back({"epochs", "", "", plan::Direction::Lower, TrialKind::Quality, false, false,
                          term(plan::FirstTerm{{"loss", ""}, atMost(0.5, "0.5")}), "epochs_to(loss <= 0.5)"});
  return plan;
}

void addTimed(Records& records, const std::string& point, int64_t block, double step, double launch) {
  records.timed(point, block, step).metrics["launch_time"] = launch;
}
void addLosses(Records& records, const std::string& point, int64_t block, std::vector<double> losses) {
  store::Trial& trial = records.add(point, TrialKind::Quality, 1000 + block, TrialStatus::Valid, {{"accuracy", 0.9}});
  trial.series["loss"] = std::move(losses);
}

}  // namespace

TEST_CASE("a derived metric is computed in each trial") {
  const plan::Plan plan = derived();
  Records records;
  for (int b = 1; b <= 7; ++b) addTimed(records, "fp64-1", b, 0.1 * b, 0.02 * b);
  const Conclusions judgement = conclude(plan, records.results);
  const judge::Summary* share = judgement.find("fp64-1", "launch_share");
  REQUIRE(share);
  CHECK(share->n == 7);
  CHECK(share->median == doctest::Approx(0.2));  // not the quotient of medians of other trials
  CHECK(share->interval->low == doctest::Approx(0.2));
  CHECK(judgement.find("fp64-1", "rest")->values[2] == doctest::Approx(0.3 - 0.06));
  CHECK_FALSE(judgement.find("fp32-1", "launch_share"));
}

TEST_CASE("a derived metric of a timed-out trial is the worst in its own direction") {
  plan::Plan plan = derived();
  plan.metrics[5].better = plan::Direction::Higher;
  REQUIRE(plan.metrics[5].name == "launch_share");
  Records records;
  for (int b = 1; b <= 7; ++b) addTimed(records, "fp64-1", b, 0.1, 0.02);
  records.add("fp64-1", TrialKind::Timed, 8, TrialStatus::Timeout);
  const Conclusions judgement = conclude(plan, records.results);
  const judge::Summary* share = judgement.find("fp64-1", "launch_share");
  REQUIRE(share);
  CHECK(share->n == 8);
  CHECK(share->timeouts == 1);
  CHECK(std::isinf(share->interval->low));
  CHECK(share->interval->low < 0);
}

TEST_CASE(
    "where a derived metric does not say what is better, a trial that timed out has no value of it, and that is said") {
  plan::Plan plan = derived();
  plan.metrics[5].better.reset();
  REQUIRE(plan.metrics[5].name == "launch_share");
  Records records;
  for (int b = 1; b <= 7; ++b) addTimed(records, "fp64-1", b, 0.1, 0.02);
  records.add("fp64-1", TrialKind::Timed, 8, TrialStatus::Timeout);
  const Conclusions judgement = conclude(plan, records.results);
  CHECK(judgement.find("fp64-1", "launch_share")->n == 7);
  CHECK(judgement.find("fp64-1", "launch_share")->timeouts == 0);
  CHECK(judgement.find("fp64-1", "step_time")->timeouts == 1);
  for (const Ranking& ranking : judgement.description.rankings) CHECK(ranking.metric != "launch_share");
}

TEST_CASE("a derived metric says what it lacks") {
  plan::Plan plan = derived();
  Records records;
  for (int b = 1; b <= 7; ++b) {
    store::Trial& trial = records.timed("fp64-1", b, 0.1);
    trial.not_on_device = {"launch_time"};
  }
  plan::Cell cell;
  cell.levels = levels("fp64", 1);
  cell.term = metric("launch_share", "fp64-1");
  cell.points = {"fp64-1"};
  const judge::CriterionResult result = judged(plan, criterion({cell}, atMost(0.5, "50%"), "", std::nullopt), records);
  CHECK(word(result.verdict) == "inconclusive");
  CHECK(is(result.cells[0].why, Reason::NotOnDevice));
  CHECK(result.cells[0].why->name == "launch_time");
}

TEST_CASE("what is divided by zero has no value, and decides nothing") {
  const plan::Plan plan = derived();
  Records records;
  for (int b = 1; b <= 7; ++b) addTimed(records, "fp64-1", b, 0, 0.1);
  plan::Cell cell;
  cell.levels = levels("fp64", 1);
  cell.term = metric("launch_share", "fp64-1");
  cell.points = {"fp64-1"};
  for (const auto confidence : {std::optional<double>(), std::optional(0.95)}) {
    const judge::CriterionResult result = judged(plan, criterion({cell}, atLeast(0.5, "50%"), "", confidence), records);
    CHECK(word(result.verdict) == "inconclusive");
    REQUIRE(is(result.cells[0].why, Reason::NotComputed));
    CHECK(result.cells[0].why->name == "launch_share");
    CHECK(is(result.cells[0].why->because, Reason::DivisionByZero));
  }
  CHECK_FALSE(conclude(plan, records.results).find("fp64-1", "launch_share"));
}

TEST_CASE("a comparison may read a derived metric") {
  plan::Plan plan = derived();
  Records records;
  for (int b = 1; b <= 7; ++b) {
    addTimed(records, "fp64-1", b, 0.1, 0.04 + 0.001 * b);
    addTimed(records, "fp32-1", b, 0.1, 0.02 + 0.0005 * b);
  }
  plan::Cell cell;
  cell.levels = levels("fp32", 1);
  cell.term = term(plan::OperationTerm{plan::OperationTerm::Op::Ratio,
                                       {metric("launch_share", "fp64-1"), metric("launch_share", "fp32-1")}});
  cell.estimator = plan::Estimator::PairedRatio;
  cell.points = {"fp32-1", "fp64-1"};
  plan.comparisons.push_back({"less", "", "precision", "x", {"precision", "gpus"}, {cell}, 0, ""});
  const Conclusions judgement = conclude(plan, records.results);
  CHECK(*judgement.comparisons[0].cells[0].estimate == doctest::Approx(2));
  CHECK(judgement.comparisons[0].cells[0].scope.complete == 7);
}

TEST_CASE("a series: its last value in tables, epochs_to, and one that never gets there") {
  const plan::Plan plan = derived();
  Records records;
  for (int b = 1; b <= 6; ++b) addLosses(records, "fp64-1", b, {3, 1, 0.5, 0.4});
  addLosses(records, "fp64-1", 7, {3, 2, 1.5, 0.9});
  const Conclusions judgement = conclude(plan, records.results);
  CHECK(judgement.find("fp64-1", "loss")->median == 0.4);
  const judge::Summary* epochs = judgement.find("fp64-1", "epochs");
  REQUIRE(epochs);
  CHECK(epochs->median == 3);
  CHECK(epochs->n == 7);
  CHECK(epochs->never == 1);
  CHECK(epochs->timeouts == 0);
  CHECK(std::isinf(epochs->interval->high));
}

TEST_CASE("a series that never reaches its bound is no timeout") {
  const plan::Plan plan = derived();
  Records records;
  for (int b = 1; b <= 7; ++b) addLosses(records, "fp64-1", b, {3, 2, 1.5, 0.9});
  plan::Cell cell;
  cell.levels = levels("fp64", 1);
  cell.kind = TrialKind::Quality;
  cell.term = metric("epochs", "fp64-1");
  cell.points = {"fp64-1"};
  const plan::Criterion soon = criterion({cell}, atMost(2, "2"), "", std::nullopt);
  judge::CriterionResult result = judged(plan, soon, records);
  CHECK(word(result.verdict) == "fail");
  CHECK_FALSE(result.cells[0].worst.timed_out);
  for (store::Trial& trial : records.results.trials) trial.status = TrialStatus::Timeout;
  result = judged(plan, soon, records);
  CHECK(result.cells[0].worst.timed_out);
}

TEST_CASE("max_gap is the largest distance of two series of one block") {
  plan::Plan plan = derived();
  Records records;
  for (int b = 1; b <= 7; ++b) {
    addLosses(records, "fp64-1", b, {3, 1, 0.5});
    const double gap = 0.02 + 0.001 * (b * 3 % 7 + 1);          // without a trend from block to block
    addLosses(records, "bf16-1", b, {3.01, 1 + gap, 0.5, 99});  // only as far as both go
  }
  plan::Cell cell;
  cell.levels = levels("bf16", 1);
  cell.kind = TrialKind::Quality;
  cell.term = term(plan::GapTerm{{"loss", "bf16-1"}, {"loss", "fp64-1"}});
  cell.points = {"bf16-1", "fp64-1"};
  const judge::CriterionResult close = judged(plan, criterion({cell}, atMost(0.05, "0.05"), "", 0.95), records);
  CHECK(word(close.verdict) == "pass");
  CHECK(*close.cells[0].estimate == doctest::Approx(0.024));
  CHECK(word(judged(plan, criterion({cell}, atMost(0.01, "0.01"), "", 0.95), records).verdict) == "fail");
}

TEST_CASE("a ratio of ratios needs all four points in one block and session") {
  plan::Plan plan = study();
  Records records;
  // bf16 gains 2.0x on one gpu and 1.5x on two: the gain grows by 0.75x.
  for (int b = 1; b <= 8; ++b) {
    const double drift = 1 + 0.1 * (b % 3) + 0.003 * b, wobble = 1 + 0.002 * (b % 4);
    records.timed("fp64-1", b, 0.1 * drift);
    records.timed("bf16-1", b, 0.05 * drift * wobble);
    records.timed("fp64-2", b, 0.06 * drift);
    // One point of block 8 was measured in another session.
    records.timed("bf16-2", b, 0.04 * drift, b == 8 ? 2 : 1);
  }
  const auto gain = [](const char* gpus) {
    return term(plan::OperationTerm{
        plan::OperationTerm::Op::Ratio,
        {metric("step_time", std::string("fp64-") + gpus), metric("step_time", std::string("bf16-") + gpus)}});
  };
  plan::Cell cell;
  cell.levels = levels("bf16", 2);
  cell.term = term(plan::OperationTerm{plan::OperationTerm::Op::Ratio, {gain("2"), gain("1")}});
  cell.estimator = plan::Estimator::PairedRatio;
  cell.points = {"bf16-2", "fp64-2", "bf16-1", "fp64-1"};
  const judge::CriterionResult result = judged(plan, criterion({cell}, atMost(0.8, "0.8x"), "x", 0.95), records);
  CHECK(word(result.verdict) == "pass");
  CHECK(*result.cells[0].estimate == doctest::Approx(0.75).epsilon(0.01));
  CHECK(result.scope.complete == 7);
  CHECK(result.scope.lost == 1);
  // Five complete blocks are too few, whatever each pair of points has.
  for (store::Trial& trial : records.results.trials)
    if (trial.key->place.point == "fp64-1" && (trial.block == 2 || trial.block == 3))
      trial.status = TrialStatus::Failed;
  const judge::CriterionResult few = judged(plan, criterion({cell}, atMost(0.8, "0.8x"), "x", 0.95), records);
  CHECK(word(few.verdict) == "inconclusive");
  CHECK(is(few.cells[0].why, Reason::TooFew, {6, 95, 5}));
}

}  // namespace expc::describe
