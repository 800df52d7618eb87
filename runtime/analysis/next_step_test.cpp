#include "runtime/analysis/next_step.h"

#include <doctest/doctest.h>

#include "runtime/analysis/test_study.h"

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

TEST_CASE("no number of blocks decides what lies on its bound, or has no interval") {
  Records records;
  records.pairs(7, 1.2, 0);
  CHECK(!judgedGain(records, 1.2, "1.2x").next);
  Records few;
  few.pairs(4, 1.2);
  CHECK(word(judgedGain(few, 1.1, "1.1x").verdict) == "inconclusive");
  CHECK(!judgedGain(few, 1.1, "1.1x").next);
}

}  // namespace expc::analysis
