// Claims of infeasibility, points that are expected infeasible, and agreement with a reference.

#include <doctest/doctest.h>

#include "runtime/judge/needs.h"
#include "tests/support/judge/study.h"

namespace expc::judge {

using namespace test;

TEST_CASE("infeasible passes when every point ran out of memory in two blocks") {
  const plan::Plan plan = study();
  Records records;
  CHECK(word(judged(plan, outOfMemory(), records).verdict) == "not run");
  for (const int gpus : {1, 2})
    for (const int64_t block : {1, 2}) records.runsOut(id("bf16", gpus), block);
  const CriterionResult result = judged(plan, outOfMemory(), records);
  CHECK(word(result.verdict) == "pass");
  CHECK(is(result.cells[1].why, Reason::RanOutIn, {2}));
  CHECK(result.scope.complete == 2);
}

TEST_CASE("infeasible is open after one block, and fails when a trial was valid") {
  const plan::Plan plan = study();
  Records records;
  for (const int64_t block : {1, 2}) records.runsOut("bf16-1", block);
  records.runsOut("bf16-2", 1);
  CriterionResult result = judged(plan, outOfMemory(), records);
  CHECK(word(result.verdict) == "inconclusive");
  CHECK(is(result.cells[1].why, Reason::RanOutTooSeldom, {1, 2}));
  // An exists has its witness already.
  const CriterionResult some = judged(plan, outOfMemory(plan::Claim::Kind::Exists), records);
  CHECK(word(some.verdict) == "pass");
  CHECK(some.scope.complete == 2);  // of the witness

  records.timed("bf16-2", 2, 0.1);
  result = judged(plan, outOfMemory(), records);
  CHECK(word(result.verdict) == "fail");
  CHECK(is(result.cells[1].why, Reason::RanWell, {1, 2, 1}));
  CHECK(result.scope.complete == 1);  // of the point that fails
  CHECK(result.cells[1].why->said == "out of memory");
  plan::Plan both = plan;
  both.criteria.push_back(outOfMemory());
  CHECK(exitCode(judge(both, records.results)) == 3);
}

TEST_CASE("a failure that is no lack of memory decides nothing") {
  const plan::Plan plan = study();
  Records records;
  records.add("bf16-1", TrialKind::Timed, 1, TrialStatus::Failed).reason = "rank 1 died";
  const CriterionResult result = judged(plan, outOfMemory(), records);
  CHECK(word(result.verdict) == "broken");
  CHECK(is(result.cells[0].why, Reason::NeitherOutNorWell));
  CHECK(result.cells[0].why->said == "rank 1 died");
}

TEST_CASE("a claim of infeasibility schedules its points, a second block even where the design has one") {
  plan::Plan plan = study(1, 0);
  plan.criteria.push_back(outOfMemory());
  Records records;
  for (int64_t block = 1; block <= 9; ++block) {
    const auto points = nextBlock(Index(plan, records.results), TrialKind::Timed);
    if (points.empty()) break;
    CHECK(points.size() == (block == 1 ? 6 : 2));
    for (const plan::Place& point : points) {
      if (point.point.starts_with("bf16"))
        records.runsOut(point, block);
      else
        records.timed(point, block, 0.1);
    }
    if (block > 1) continue;
    // If the run ends here, by its budget or by hand, more is wanted: one block is no verdict.
    CHECK(word(judge(plan, records.results).criteria[0].verdict) == "inconclusive");
  }
  CHECK(word(judge(plan, records.results).criteria[0].verdict) == "pass");
}

TEST_CASE("what is expected infeasible is not started, and verdicts say so") {
  plan::Plan plan = study();
  for (plan::Point& point : plan.points)
    if (point.id.starts_with("bf16")) point.expected_infeasible = "needs 120 GiB of 96 GB";
  Records records;
  const auto points = nextBlock(Index(plan, records.results), TrialKind::Timed);
  CHECK(points == std::vector<plan::Place>{"fp64-1", "fp64-2", "fp32-1", "fp32-2"});
  const CriterionResult claim = judged(plan, outOfMemory(), records);
  CHECK(word(claim.verdict) == "not run");
  CHECK(is(claim.cells[0].why, Reason::ExpectedOutOnly));
  CHECK(claim.cells[0].why->said == "needs 120 GiB of 96 GB");
  const CriterionResult gain = judged(plan, criterion(gainCells("bf16"), atLeast(1.2, "1.2x"), "x", 0.95), records);
  CHECK(word(gain.verdict) == "not run");
  CHECK(is(gain.cells[0].why, Reason::ExpectedOut));
  CHECK(plan.points[gain.cells[0].why->point].id == "bf16-1");
  const Judgement judgement = judge(plan, records.results);
  for (const PointStatus& status : judgement.points)
    if (status.point == "bf16-1") CHECK(status.planned == 0);
  // Trials that were tried all the same count.
  for (const int gpus : {1, 2})
    for (const int64_t block : {1, 2}) records.runsOut(id("bf16", gpus), block);
  CHECK(word(judged(plan, outOfMemory(), records).verdict) == "pass");
}

TEST_CASE("agreement with a reference holds each cell against its own band") {
  plan::Plan plan = study();
  Records records;
  records.pairs(7, 1.5);
  plan::Criterion agree = criterion(gainCells(), {Relation::Within, 0, 0, "like table2 within 10 %"}, "x", 0.95);
  agree.cells[0].bound = plan::Bound{Relation::Within, 1.35, 1.65, "within 10 % of 1.50x"};
  agree.cells[1].bound = plan::Bound{Relation::Within, 1.4, 1.7, "within 10 % of 1.55x"};
  CriterionResult result = judged(plan, agree, records);
  CHECK(word(result.verdict) == "pass");

  agree.cells[1].bound = plan::Bound{Relation::Within, 1.8, 2.2, "within 10 % of 2.00x"};
  result = judged(plan, agree, records);
  CHECK(word(result.verdict) == "fail");
  CHECK(word(result.cells[0].verdict) == "pass");
  CHECK(word(result.cells[1].verdict) == "fail");

  agree.confidence.reset();
  CHECK(word(judged(plan, agree, records).verdict) == "fail");
}

}  // namespace expc::judge
