// Noise of unequal shapes, and values of several sessions.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/analysis/test_study.h"

namespace expc::analysis {

using namespace test;

namespace {

/// Ratios about 1.2 with a long tail below: fp32 is now and then much slower.
Records skewedPairs(unsigned blocks) {
  Records records;
  for (unsigned block = 1; block <= blocks; ++block)
    for (const int gpus : {1, 2}) {
      records.timed(id("fp64", gpus), block, 0.12);
      records.timed(id("fp32", gpus), block, 0.1 * std::exp(0.001 * std::pow(1.4, block)));
    }
  return records;
}

}  // namespace

TEST_CASE("skewed pairs are judged by their median and the sign test's interval") {
  const Records records = skewedPairs(20);
  const CriterionResult result = judgedGain(records, 1.1, "1.1x");
  for (const CellEstimate& cell : result.cells) {
    CHECK(cell.skewed);
    std::vector<double> sorted = cell.values;
    std::sort(sorted.begin(), sorted.end());
    CHECK(*cell.estimate == doctest::Approx((sorted[9] + sorted[10]) / 2));
    // Of 20 values the sixth and the fifteenth: 95.9 %.
    CHECK(cell.interval->low == sorted[5]);
    CHECK(cell.interval->high == sorted[14]);
    CHECK(cell.interval->confidence == doctest::Approx(0.9586).epsilon(0.001));
  }
}

TEST_CASE("even pairs keep the signed rank, and constant ones know no shape") {
  Records records;
  records.pairs(7, 1.2);
  for (const CellEstimate& cell : judgedGain(records, 1.1, "1.1x").cells) CHECK_FALSE(cell.skewed);
  Records same;
  same.pairs(7, 1.2, 0);
  for (const CellEstimate& cell : judgedGain(same, 1.1, "1.1x").cells) CHECK_FALSE(cell.skewed);
}

TEST_CASE("values of several sessions scatter twice: inside and between") {
  Records records;
  for (int64_t session = 1; session <= 3; ++session)
    for (int64_t i = 0; i < 2; ++i) records.timed(id("fp32", 1), 2 * session + i, 0.1 * session + 0.002 * i, session);
  const plan::Plan plan = study();
  const Judgement judgement = judge(plan, records.results);
  const Summary* summary = judgement.find(id("fp32", 1), "step_time");
  REQUIRE(summary);
  REQUIRE(summary->spreads);
  CHECK(summary->spreads->within == doctest::Approx(0.002 / std::sqrt(2.0)));
  CHECK(summary->spreads->between == doctest::Approx(0.1));
  CHECK(summary->spreads->sessions == 3);
  const CriterionResult result =
      judged(plan, criterion(metricCells(plan, "step_time"), atMost(1, "1s"), "s", 0.95), records);
  CHECK(std::count_if(result.cells.begin(), result.cells.end(), [](const auto& cell) { return bool(cell.spreads); }) ==
        1);
  Records one;
  one.pairs(7, 1.2);
  CHECK_FALSE(judge(plan, one.results).find(id("fp32", 1), "step_time")->spreads);
}

}  // namespace expc::analysis
