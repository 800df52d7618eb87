#include <doctest/doctest.h>

#include <cmath>

#include "runtime/describe/description.h"
#include "tests/support/judge/study.h"

namespace expc::describe {
namespace {

using namespace judge::test;

/// Both points of a block at a level, with a wobble of half a per cent.
Records recordsOf(const std::vector<double>& of_blocks) {
  Records records;
  for (size_t b = 0; b < of_blocks.size(); ++b) {
    const double wobble = 1 + 0.005 * (double((b * 7) % 5) - 2) / 2;
    records.timed("fp64-1", int64_t(b) + 1, 2 * of_blocks[b] * wobble);
    records.timed("fp32-1", int64_t(b) + 1, of_blocks[b] * wobble);
  }
  return records;
}

Drift driftOfTimes(const std::vector<double>& of_blocks) {
  const plan::Plan plan = study();
  const Records records = recordsOf(of_blocks);
  const auto drift = driftOf(judge::Index(plan, records.results), *plan.findMetric("step_time"));
  REQUIRE(drift);
  return *drift;
}

}  // namespace

TEST_CASE("a machine that gets slower shows a trend, and a steady one none") {
  const Drift steady = driftOfTimes(std::vector<double>(12, 1));
  CHECK(steady.p > kTrend);
  CHECK_FALSE(steady.first);
  CHECK(steady.blocks == 12);
  std::vector<double> slower;
  for (int i = 0; i < 12; ++i) slower.push_back(std::pow(1.01, i));
  const Drift drifting = driftOfTimes(slower);
  CHECK(drifting.p < kTrend);
  CHECK(drifting.last == doctest::Approx(std::pow(1.01, 11)).epsilon(0.01));
}

TEST_CASE("a trend of thousands of blocks is that of means of consecutive ones") {
  std::vector<double> slower;
  for (int i = 0; i < 2501; ++i) slower.push_back(std::pow(1.0001, i));
  const Drift drift = driftOfTimes(slower);
  CHECK(drift.blocks == 2501);
  CHECK(drift.p < kTrend);
  CHECK(drift.last == doctest::Approx(std::pow(1.0001, 2500)).epsilon(0.01));
  CHECK(driftOfTimes(std::vector<double>(2501, 1)).p > kTrend);
}

TEST_CASE("a first block that lies apart is a warm-up and no trend") {
  std::vector<double> warm(10, 1);
  warm[0] = 1.2;
  const Drift drift = driftOfTimes(warm);
  REQUIRE(drift.first);
  CHECK(*drift.first == doctest::Approx(1.2).epsilon(0.01));
  CHECK(drift.p > kTrend);
}

TEST_CASE("the p-value of a trend is SciPy's kendalltau by the normal approximation") {
  // Six levels in falling order of which one pair is exchanged: S = -13 of 15, var = 6 5 17 / 18.
  const Drift drift = driftOfTimes({6, 5, 4, 2, 3, 1});
  CHECK(drift.p == doctest::Approx(std::erfc(12 / std::sqrt(6.0 * 5 * 17 / 18) / std::sqrt(2))).epsilon(1e-9));
}

TEST_CASE("outliers are told with their trial, and few blocks have no drift") {
  const plan::Plan plan = study();
  Records records = recordsOf(std::vector<double>(8, 1));
  records.results.trials[5].metrics["step_time"] = 7;
  const judge::Index index(plan, records.results);
  const std::vector<Outlier> outliers = outliersOf(index, *plan.findMetric("step_time"));
  REQUIRE(outliers.size() == 1);
  CHECK(outliers[0].trial == records.results.trials[5].id);
  CHECK(outliers[0].point == "fp32-1");
  CHECK(outliers[0].block == 3);
  CHECK(outliers[0].value == 7);
  CHECK_FALSE(driftOf(judge::Index(plan, recordsOf({1, 1, 1}).results), *plan.findMetric("step_time")));
}

}  // namespace expc::describe
