#include <doctest/doctest.h>

#include "runtime/analysis/criteria.h"
#include "tests/support/analysis/study.h"

namespace expc::analysis {

using namespace test;

TEST_CASE("an undecided verdict says how many blocks would probably decide it") {
  Records records;
  records.pairs(7, 1.2, 0.01);
  for (store::Trial& trial : records.results.trials) trial.seconds = 2;
  const CriterionResult close = judgedGain(records, 1.196, "1.196x");
  REQUIRE(word(close.verdict) == "inconclusive");
  REQUIRE(close.next);
  CHECK(close.next->blocks > 7);
  CHECK(close.next->blocks < 200);
  // Each block has six points of two seconds.
  CHECK(*close.next->seconds == doctest::Approx(12.0 * close.next->blocks));
  const CriterionResult near = judgedGain(records, 1.194, "1.194x");
  if (near.next) CHECK(near.next->blocks <= close.next->blocks);
  CHECK(!judgedGain(records, 1.1, "1.1x").next);
}

TEST_CASE("what lies on its bound is out of the reach of blocks") {
  Records records;
  records.pairs(7, 1.2, 0.01);
  const double estimate = *judgedGain(records, 1.196, "1.196x").cells[0].estimate;
  const CriterionResult on = judgedGain(records, estimate, "as estimated");
  REQUIRE(word(on.verdict) == "inconclusive");
  REQUIRE(on.next);
  CHECK(on.next->reach == NextStep::Reach::OutOfReach);
  CHECK(on.next->blocks == 0);
}

TEST_CASE("too few pairs for an interval take as many as one needs") {
  Records few;
  few.pairs(4, 1.2);
  const CriterionResult result = judgedGain(few, 1.1, "1.1x");
  CHECK(word(result.verdict) == "inconclusive");
  REQUIRE(result.next);
  CHECK(result.next->reach == NextStep::Reach::Intervals);
  CHECK(result.next->blocks == 2);
  CHECK(result.next->repetitions == 7);  // as planned
  CHECK_FALSE(result.next->further_look);
}

TEST_CASE("blocks beyond the plan are a further look, which takes more of them") {
  // The plan has seven repetitions, and they are there; with twenty planned the same seven leave the others to come.
  Records records;
  records.pairs(7, 1.2, 0.01);
  const CriterionResult over = judgedGain(records, 1.194, "1.194x");
  REQUIRE(over.next);
  REQUIRE(over.next->reach == NextStep::Reach::Decides);
  CHECK(over.next->repetitions == over.next->blocks + 7);
  plan::Plan longer = study(200);
  longer.criteria = {criterion(gainCells(), atLeast(1.194, "1.194x"), "x", 0.95)};
  const Judgement judgement = judge(longer, records.results);
  const CriterionResult& within = judgement.criteria[0];
  CHECK(judgement.unfinished);
  REQUIRE(within.next);
  CHECK(within.next->blocks < over.next->blocks);
  CHECK(within.next->repetitions == 200);
}

}  // namespace expc::analysis
