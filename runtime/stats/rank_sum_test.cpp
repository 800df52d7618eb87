#include "runtime/stats/rank_sum.h"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/stats/distributions.h"

namespace expc::stats {
namespace {

double pValue(const NestedIntervals& intervals) {
  return intervals.smallestAlpha([](double low, double high) { return low > 0 || high < 0; });
}

TEST_CASE("p-values are those of SciPy's exact Mann-Whitney test") {
  const std::vector<double> a{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> b{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.061, 3.14, 1.291};
  CHECK(pValue(rankSum(a, b)) == doctest::Approx(0.13591114767587355).epsilon(1e-9));
  CHECK(pValue(rankSum(b, a)) == doctest::Approx(0.13591114767587355).epsilon(1e-9));
  CHECK(pValue(rankSum(std::vector{5.1, 6.2, 7.3, 8.4, 9.5}, std::vector{1.2, 2.3, 3.4, 4.5, 5.6, 6.7, 0.8})) ==
        doctest::Approx(0.01767676767676768).epsilon(1e-9));
}

TEST_CASE("the shift is the median of the differences, inside its interval") {
  const std::vector<double> a{11, 12, 13, 14, 15, 16, 17}, b{1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5};
  const NestedIntervals shift = rankSum(a, b);
  CHECK(shift.estimate() == doctest::Approx(9.5));
  const auto interval = shift.interval(0.95);
  REQUIRE(interval);
  CHECK(interval->confidence >= 0.95);
  CHECK(interval->low < 9.5);
  CHECK(interval->high > 9.5);
  CHECK_FALSE(rankSum(std::vector{1.0, 2.0, 3.0}, std::vector{7.0, 8.0, 9.0}).interval(0.95));  // 2 of 20 is the least
}

TEST_CASE("a timeout is a rank, a NaN is nothing, and a tie speaks for neither") {
  const std::vector<double> slow{9, 10, INFINITY, INFINITY, 8, 11, 12}, fast{1, 2, 3, 4, 5, 6, 7};
  CHECK(pValue(rankSum(slow, fast)) == doctest::Approx(2.0 / 3432));
  CHECK_FALSE(rankSum(std::vector{1.0, std::nan("")}, fast).estimate());
  CHECK(pValue(rankSum(std::vector<double>(9, 5.0), std::vector<double>(9, 5.0))) == 1);
}

TEST_CASE("the exact distribution meets its approximation, and tests keep their level") {
  CHECK(rankSumCdf(50, 50)->back() == doctest::Approx(1));
  const std::vector<double> cdf = *rankSumCdf(50, 50);
  const double deviation = std::sqrt(50.0 * 50 * 101 / 12);
  CHECK(cdf[1000] == doctest::Approx(normalCdf((1000.5 - 1250) / deviation)).epsilon(0.02));
  NormalStream stream(7);
  unsigned rejected = 0;
  for (unsigned study = 0; study < 2000; ++study) {
    std::vector<double> a(8), b(10);
    for (double& value : a) value = std::exp(stream.next());
    for (double& value : b) value = std::exp(stream.next());
    rejected += significant(pValue(rankSum(a, b)), 0.05);
  }
  CHECK(rejected < 125);
  CHECK(rejected > 60);
}

}  // namespace
}  // namespace expc::stats
