#include "runtime/analysis/looks.h"

#include <doctest/doctest.h>

#include "runtime/analysis/index.h"
#include "runtime/analysis/needs.h"
#include "runtime/analysis/test_study.h"

namespace expc::analysis {

using namespace test;

namespace {

/// Twenty repetitions with looks after 8 and 14, and one criterion on what fp32 gains.
plan::Plan planned(double bound = 1.2) {
  plan::Plan plan = study(20, 0);
  plan.design.kinds[0].looks = {8, 14};
  plan.criteria.push_back(criterion(gainCells(), atLeast(bound, "the bound"), "x", 0.95));
  // The third precision is of no criterion, but its trials are repeated as often.
  return plan;
}

/// All points in these blocks.
void measureAll(Records& records, unsigned blocks, double gain, int first = 1) {
  records.pairs(blocks, gain, 0.01, "fp32", first);
  records.pairs(blocks, gain, 0.01, "bf16", first);
}

/// A verdict for another number of repetitions, before.
store::PastVerdicts before(unsigned repetitions) { return {1, {{TrialKind::Timed, repetitions}}, {"claim"}}; }

}  // namespace

TEST_CASE("a clear effect ends the trials at the first look, and its verdict is final") {
  const plan::Plan plan = planned();
  Records records;
  measureAll(records, 7, 1.5);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 8);
  measureAll(records, 1, 1.5, 8);
  const Index index(plan, records.results);
  CHECK(nextBlock(index, TrialKind::Timed).empty());
  CHECK(!lacksTrials(index));
  CHECK(endedAtLookText(index) == "every criterion is decided at the look after 8 of 20 timed repetitions");
  const Judgement judgement = judge(index);
  const CriterionResult& result = judgement.criteria[0];
  CHECK(word(result.verdict) == "pass");
  CHECK(!result.provisional);
  REQUIRE(result.look);
  CHECK(result.look->now == 8);
  CHECK(result.look->of == 20);
  CHECK(result.look->before.empty());
  CHECK(result.look->confidence > 0.97);
  CHECK(exitCode(judgement) == 0);
}

TEST_CASE("what a look does not decide goes on to the next, at the level that is left") {
  const plan::Plan plan = planned(1.5);
  Records records;
  measureAll(records, 8, 1.5);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 14);
  measureAll(records, 2, 1.5, 9);
  const Judgement between = judge(plan, records.results);
  CHECK(between.criteria[0].look->before == std::vector<unsigned>{8});
  CHECK(exitCode(between) == 4);
  measureAll(records, 4, 1.5, 11);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 20);
  measureAll(records, 6, 1.5, 15);
  const Index index(plan, records.results);
  CHECK(nextBlock(index, TrialKind::Timed).empty());
  CHECK(endedAtLookText(index).empty());
  const CriterionResult result = judge(index).criteria[0];
  CHECK(result.look->before == std::vector<unsigned>{8, 14});
  CHECK(result.look->now == 20);
  CHECK(result.look->confidence > 0.95);
  CHECK(result.look->confidence < 0.99);
}

TEST_CASE("beyond a look that did not decide, later values do not make it decide") {
  const plan::Plan plan = planned(1.2);
  Records records;
  // Eight blocks at the bound, then two that are far above it.
  measureAll(records, 8, 1.2);
  measureAll(records, 2, 9, 9);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 14);
}

TEST_CASE("trials under way keep the others waiting for the look") {
  const plan::Plan plan = planned();
  Records records;
  measureAll(records, 7, 1.5);
  const Index index(plan, records.results);
  std::vector<plan::Place> all;
  for (const plan::Point& point : plan.points) all.push_back(point.id);
  CHECK(!nextBlock(index, TrialKind::Timed).empty());
  const BlockUnderWay under_way{8, all};
  CHECK(nextBlock(index, TrialKind::Timed, {&under_way, 1}).empty());
}

TEST_CASE("a verdict of an unfinished design is provisional and decides nothing yet") {
  plan::Plan plan = study(10, 0);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  Records records;
  measureAll(records, 7, 1.5);
  const Judgement judgement = judge(plan, records.results);
  CHECK(word(judgement.criteria[0].verdict) == "pass");
  CHECK(judgement.criteria[0].provisional);
  CHECK(exitCode(judgement) == 4);
  measureAll(records, 3, 1.5, 8);
  const Judgement whole = judge(plan, records.results);
  CHECK(!whole.criteria[0].provisional);
  CHECK(!whole.criteria[0].look);
  CHECK(exitCode(whole) == 0);
}

TEST_CASE("a verdict that was given before is paid for, whatever it was of fewer repetitions") {
  plan::Plan plan = study(20, 0);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  Records records;
  measureAll(records, 20, 1.5);
  CHECK(!judge(plan, records.results).criteria[0].look);
  records.results.verdicts = {before(10)};
  const CriterionResult result = judge(plan, records.results).criteria[0];
  REQUIRE(result.look);
  CHECK(result.look->before == std::vector<unsigned>{10});
  CHECK(result.look->confidence == doctest::Approx(0.9723).epsilon(0.002));
  CHECK(word(result.verdict) == "pass");
  records.results.verdicts = {before(20), before(30)};
  CHECK(!judge(plan, records.results).criteria[0].look);
  records.results.verdicts = {before(10)};
  records.results.verdicts[0].criteria = {"another"};
  CHECK(!judge(plan, records.results).criteria[0].look);
}

}  // namespace expc::analysis
