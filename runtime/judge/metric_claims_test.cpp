#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "tests/support/judge/study.h"

namespace expc::judge {

using namespace test;

TEST_CASE("without a confidence every trial must satisfy the bound") {
  const plan::Plan plan = study();
  const auto claim = criterion(metricCells(plan, "accuracy"), atLeast(0.9, "90 %"), "", std::nullopt);
  Records records;
  for (const plan::Point& point : plan.points)
    records.accuracy(point.id, 1, 0.95 + 0.001 * (point.levels[0] + point.levels[1]));
  CriterionResult result = judged(plan, claim, records);
  CHECK(word(result.verdict) == "pass");
  records.results.trials[5].metrics["accuracy"] = 0.883;
  records.results.trials[4].metrics["accuracy"] = 0.899;
  result = judged(plan, claim, records);
  CHECK(word(result.verdict) == "fail");
  // Exactly the bound holds.
  for (store::Trial& trial : records.results.trials) trial.metrics["accuracy"] = 324.0 / 360;
  CHECK(word(judged(plan, claim, records).verdict) == "pass");
  // A timeout is worse than every value.
  records.results.trials[2].status = TrialStatus::Timeout;
  result = judged(plan, claim, records);
  CHECK(word(result.verdict) == "fail");
  // A trial that did not end says nothing either way.
  records.results.trials[2].status = TrialStatus::Failed;
  records.results.trials[2].reason = "worker printed nonsense";
  result = judged(plan, claim, records);
  CHECK(word(result.verdict) == "broken");
  CHECK(is(result.cells[2].why, Reason::Failed));
  CHECK(result.cells[2].why->said == "worker printed nonsense");
}

TEST_CASE("a claim about every trial waits for the planned ones") {
  const plan::Plan plan = study(7, 3);
  auto cells = metricCells(plan, "accuracy");
  cells.resize(1);
  const auto claim = criterion(cells, atLeast(0.9, "90 %"), "", std::nullopt);
  Records records;
  records.accuracy("fp64-1", 1, 0.95);
  records.accuracy("fp64-1", 2, 0.96);
  CHECK(word(judged(plan, claim, records).verdict) == "inconclusive");
  records.accuracy("fp64-1", 3, 0.97);
  const CriterionResult result = judged(plan, claim, records);
  CHECK(word(result.verdict) == "pass");
}

TEST_CASE("with a confidence a metric is judged by its median's interval") {
  const plan::Plan plan = study(7, 7);
  auto cells = metricCells(plan, "accuracy");
  cells.resize(1);
  Records records;
  for (int64_t block = 1; block <= 7; ++block)
    records.accuracy("fp64-1", block, 0.952 + 0.002 * double((block * 3) % 7));
  const CriterionResult result = judged(plan, criterion(cells, atLeast(0.9, "90 %"), "", 0.95), records);
  CHECK(word(result.verdict) == "pass");
  CHECK(word(judged(plan, criterion(cells, atLeast(0.97, "97 %"), "", 0.95), records).verdict) == "fail");
  CHECK(word(judged(plan, criterion(cells, atLeast(0.96, "96 %"), "", 0.95), records).verdict) == "inconclusive");
  // Seven values give no interval at 99 %.
  const CriterionResult few = judged(plan, criterion(cells, atLeast(0.9, "90 %"), "", 0.99), records);
  CHECK(is(few.cells[0].why, Reason::TooFew, {8, 99, 7}));
}

TEST_CASE("exact metrics are compared as they are, and constant ones say so") {
  plan::Plan plan = study(2);
  auto cells = metricCells(plan, "memory");
  cells.resize(2);
  Records records;
  records.pairs(2, 1.5);
  const double limit = 2.0 * 1024 * 1024 * 1024;
  CriterionResult result = judged(plan, criterion(cells, atMost(limit, "2GiB"), "B", 0.95), records);
  CHECK(word(result.verdict) == "pass");  // two values suffice: they never vary
  CHECK(result.cells[0].constant);
  CHECK(word(judged(plan, criterion(cells, {Relation::Equal, limit / 2, 0, "== 1GiB"}, "B", 0.95), records).verdict) ==
        "pass");
  CHECK(word(judged(plan, criterion(cells, atMost(limit / 4, "0.5GiB"), "B", 0.95), records).verdict) == "fail");
  const Judgement judgement = judge(plan, records.results);
  CHECK(judgement.find("fp64-1", "memory")->constant);
  CHECK_FALSE(judgement.find("fp64-1", "step_time")->constant);
  records.results.trials[0].metrics["memory"] += 8;
  CHECK_FALSE(judge(plan, records.results).find("fp64-1", "memory")->constant);
  CHECK(word(judged(plan, criterion(cells, atMost(limit, "2GiB"), "B", 0.95), records).verdict) == "inconclusive");
  CHECK(word(judged(plan, criterion(cells, atMost(limit, "2GiB"), "B", std::nullopt), records).verdict) == "pass");
}

TEST_CASE("an optional metric leaves the claim open if any trial lacks it, also if all do") {
  plan::Plan plan = study(2);
  plan.workloads.resize(1);
  plan.workloads[0].command.emplace();
  plan.workloads[0].command->metrics = {{"memory", plan::CommandMetric::From::Json, "out.json", "/memory", 1, false}};
  auto cells = metricCells(plan, "memory");
  cells.resize(2);
  Records records;
  records.pairs(2, 1.5);
  const auto claim = criterion(cells, atMost(2.0 * 1024 * 1024 * 1024, "2GiB"), "B", std::nullopt);
  CHECK(word(judged(plan, claim, records).verdict) == "pass");
  const auto lose = [](store::Trial& trial) {
    trial.metrics.erase("memory");
    trial.not_on_device = {"memory"};
  };
  lose(records.results.trials[0]);
  CHECK(word(judged(plan, claim, records).verdict) == "inconclusive");
  for (store::Trial& trial : records.results.trials) lose(trial);
  const CriterionResult none = judged(plan, claim, records);
  CHECK(word(none.verdict) == "inconclusive");
  REQUIRE(is(none.cells[0].why, Reason::OfPlace));
  CHECK(is(none.cells[0].why->because, Reason::NotInOutput));
}

TEST_CASE("a metric that the device cannot give leaves the claim open, with the reason") {
  const plan::Plan plan = study(2);
  Records records;
  records.pairs(2, 1.5);
  records.pairs(2, 1.5, 0.01, "bf16");
  for (store::Trial& trial : records.results.trials) {
    trial.metrics.erase("memory");
    trial.not_on_device = {"memory"};
  }
  const auto claim = criterion(metricCells(plan, "memory"), atMost(1e9, "1GB"), "B", std::nullopt);
  const CriterionResult result = judged(plan, claim, records);
  CHECK(word(result.verdict) == "inconclusive");
  CHECK(is(result.cells[0].why, Reason::NotOnDevice));
  CHECK(result.cells[0].why->name == "memory");
  CHECK_FALSE(judge(plan, records.results).find("fp64-1", "memory"));
  // Nor is a timeout a value of it.
  records.results.trials[0].status = TrialStatus::Timeout;
  records.results.trials[0].not_on_device.clear();
  CHECK(word(judged(plan, claim, records).verdict) == "inconclusive");
  CHECK_FALSE(judge(plan, records.results).find("fp64-1", "memory"));
}

TEST_CASE("a ratio needs values above zero on either side") {
  for (const size_t at : {2, 3}) {  // fp64-2 and fp32-2 in block 1
    Records records;
    records.pairs(7, 1.5);
    records.results.trials[at].metrics["step_time"] = 0;
    const CriterionResult result = judgedGain(records, 1.2, "1.2x");
    CHECK(result.cells[0].scope.complete == 7);
    CHECK(result.cells[1].scope.complete == 6);
    CHECK(result.cells[1].scope.lost == 1);
    CHECK(word(result.verdict) == "inconclusive");  // the other pairs alone are no sample
    REQUIRE(is(result.cells[1].unusable, Reason::Unusable, {1}));
    const Reason& why = *result.cells[1].unusable->because;
    CHECK(why.code == Reason::NotPositive);
    CHECK(why.name == "step_time");
    CHECK(why.point == (at == 2 ? 1u : 3u));
    CHECK(why.numbers == std::vector<double>{1, 7, 0});
  }
  // Where nothing is left there is no interval for a look or an `until` to stop at.
  Records dead;
  dead.pairs(7, 1.5);
  for (store::Trial& trial : dead.results.trials)
    if (trial.place().point == "fp32-1") trial.metrics["step_time"] = 0;
  const CriterionResult none = judgedGain(dead, 1.2, "1.2x");
  CHECK_FALSE(none.cells[0].interval);
  CHECK(none.cells[0].state == CellState::Lost);
  CHECK(is(none.cells[0].why, Reason::NotPositive));
}

TEST_CASE("a value that is not finite diverged: it is worse than every other, and the trial stays valid") {
  Records records;
  records.pairs(7, 1.5);
  for (const double value : {NAN, INFINITY, -INFINITY}) {
    records.results.trials[1].metrics["step_time"] = value;  // fp32-1, block 1: a speed-up of 0
    const CriterionResult result = judgedGain(records, 1.2, "1.2x");
    CHECK(result.cells[0].scope.complete == 7);
    CHECK(*std::ranges::min_element(result.cells[0].values) == 0);
    CHECK(result.cells[0].diverged == 1);
    CHECK(result.cells[0].worst.diverged);
    CHECK_FALSE(result.cells[0].unusable);
    const Judgement judgement = judge(study(), records.results);
    const Summary* summary = judgement.find("fp32-1", "step_time");
    REQUIRE(summary);
    CHECK(summary->n == 7);
    CHECK(summary->diverged == 1);
    CHECK(summary->timeouts == 0);
    CHECK(summary->values.size() == 6);
    CHECK(summary->interval->high == INFINITY);
    CHECK(judgement.status("fp32-1", TrialKind::Timed)->valid == 7);
    CHECK(judgement.find("fp32-1", "memory")->n == 7);  // the trial's other metrics count
  }
  records.results.trials[0].metrics["step_time"] = NAN;  // fp64-1: both of the pair, which is lost
  CHECK(judgedGain(records, 1.2, "1.2x").cells[0].scope.lost == 1);
  CHECK_FALSE(judgedGain(records, 1.2, "1.2x").cells[0].unusable);

  plan::Plan plan = study();
  plan.metrics[0].better.reset();  // neither end is the worse one
  const CriterionResult open =
      judged(plan, criterion(metricCells(plan, "step_time"), atMost(1, "1s"), "s", std::nullopt), records);
  CHECK(word(open.verdict) == "inconclusive");
  const Judgement judgement = judge(plan, records.results);
  CHECK(judgement.find("fp32-1", "step_time")->n == 6);
  CHECK(judgement.find("fp32-1", "step_time")->diverged == 1);
}

TEST_CASE("a memory's peak of 0 was counted by nobody") {
  const plan::Plan plan = study();
  Records records;
  records.pairs(2, 1.5);
  for (store::Trial& trial : records.results.trials) trial.metrics["memory"] = 0;
  const auto claim = criterion(metricCells(plan, "memory"), atMost(1e9, "1GB"), "B", std::nullopt);
  const CriterionResult result = judged(plan, claim, records);
  CHECK(word(result.verdict) == "inconclusive");
  CHECK(is(result.cells[0].why, Reason::NotOnDevice));
  CHECK_FALSE(judge(plan, records.results).find("fp64-1", "memory"));
}

TEST_CASE("not run, partly not run, unavailable, not asked") {
  const Records nothing;
  CHECK(word(judgedGain(nothing, 1.2, "1.2x").verdict) == "not run");
  CHECK(is(judgedGain(nothing, 1.2, "1.2x").cells[0].why, Reason::NotRun));

  plan::Plan plan = study();
  plan.points[1].unavailable = plan.points[3].unavailable = "the node has fewer cards";
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  Records one;
  one.pairs(7, 1.5);
  std::erase_if(one.results.trials, [](const store::Trial& trial) { return trial.key->place.point.back() == '2'; });
  const CriterionResult result = judge(plan, one.results).criteria[0];
  CHECK(word(result.verdict) == "inconclusive");
  CHECK(word(result.cells[0].verdict) == "pass");
  CHECK(word(result.cells[1].verdict) == "not run");
  CHECK(is(result.cells[1].why, Reason::Unavailable));
  CHECK(result.cells[1].why->said == "the node has fewer cards");

  auto claim = criterion({}, atLeast(1.2, "1.2x"), "x", 0.95);
  claim.not_asked = true;
  CHECK(word(judged(study(), claim, nothing).verdict) == "not asked");
  CHECK(is(judged(study(), claim, nothing).why, Reason::NotAsked));
}

}  // namespace expc::judge
