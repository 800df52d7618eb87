#include "runtime/stats/estimators.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/procedures.h"

namespace expc::stats {
namespace {

const double kNan = NAN;

/// Largest t with P(T+ <= t) <= tail, -1 if none.
int criticalValue(unsigned n, double tail) {
  const auto cdf = signedRankCdf(n);
  int t = -1;
  while ((*cdf)[t + 1] <= tail) ++t;
  return t;
}

std::vector<double> oneTo(unsigned n) {
  std::vector<double> values(n);
  for (unsigned i = 0; i < n; ++i) values[i] = n - i;  // descending: order must not matter
  return values;
}

}  // namespace

TEST_CASE("the signed-rank null distribution has the published critical values") {
  // Two-sided 5 % and 1 % (McCornack 1965 and every textbook's table).
  const std::map<unsigned, int> five = {{5, -1},  {6, 0},   {7, 2},   {8, 3},    {9, 5},   {10, 8},  {11, 10},
                                        {12, 13}, {13, 17}, {14, 21}, {15, 25},  {16, 29}, {17, 34}, {18, 40},
                                        {19, 46}, {20, 52}, {25, 89}, {30, 137}, {50, 434}};
  for (const auto& [n, t] : five) {
    CAPTURE(n);
    CHECK(criticalValue(n, 0.025) == t);
  }
  const std::map<unsigned, int> one = {{7, -1},  {8, 0},   {9, 1},   {10, 3},   {12, 7},
                                       {15, 15}, {20, 37}, {25, 68}, {30, 109}, {50, 373}};
  for (const auto& [n, t] : one) {
    CAPTURE(n);
    CHECK(criticalValue(n, 0.005) == t);
  }
}

TEST_CASE("the normal approximation continues the exact signed-rank distribution") {
  const auto exact = signedRankCdf(50);
  for (const unsigned t : {373u, 434u, 500u, 637u})
    CHECK(signedRankCdfApproximate(t, 50) == doctest::Approx((*exact)[t]).epsilon(0.03));
}

TEST_CASE("flips of a fair coin are counted exactly, and go on as the incomplete beta function") {
  CHECK(fairCoinCdf(0, 50) == std::ldexp(1.0, -50));
  CHECK(fairCoinCdf(1, 10) == 11.0 / 1024);
  CHECK(fairCoinCdf(25, 50) + fairCoinCdf(24, 50) == 1);
  CHECK(fairCoinCdf(49, 50) == 1 - std::ldexp(1.0, -50));
  for (const double k : {0.0, 3.0, 24.0})  // the same one step beside, where it is not counted
    CHECK(fairCoinCdf(k, 50) == doctest::Approx(fairCoinCdf(k + 1e-9, 50)).epsilon(1e-6));
}

TEST_CASE("the median's interval lies between the published ranks and the next") {
  // Lower rank k of [x(k), x(n+1-k)] at 95 % (Le Boudec 2010, appendix A; Conover).
  const std::map<unsigned, unsigned> ranks = {{6, 1},  {7, 1},  {8, 1},  {9, 2},  {10, 2},  {11, 2},  {12, 3},
                                              {15, 4}, {17, 5}, {20, 6}, {25, 8}, {30, 10}, {50, 18}, {70, 27}};
  for (const auto& [n, k] : ranks) {
    CAPTURE(n);
    const auto interval = orderStatistics(oneTo(n)).interval(0.95);
    REQUIRE(interval);
    CHECK(interval->low >= k);
    CHECK(interval->low < k + 1);
    CHECK(interval->low + interval->high == doctest::Approx(n + 1));
    CHECK(interval->confidence >= 0.95);
    CHECK(interval->confidence < 0.953);
    const auto at_ranks = orderStatistics(oneTo(n)).interval(1 - 2 * fairCoinCdf(k - 1, n));
    CHECK(at_ranks->low == k);
    CHECK(at_ranks->high == n + 1 - k);
  }
  CHECK_FALSE(orderStatistics(oneTo(5)).interval(0.95));
  CHECK_FALSE(orderStatistics(oneTo(7)).interval(0.99));
}

TEST_CASE("the median of odd, even, tied and infinite values") {
  CHECK(orderStatistics(std::vector{3.0, 1.0, 2.0}).estimate() == 2.0);
  CHECK(orderStatistics(std::vector{4.0, 1.0, 2.0, 3.0}).estimate() == 2.5);
  CHECK(orderStatistics(std::vector{2.0, 2.0, 2.0, 2.0, 2.0, 2.0}).interval(0.95)->high == 2.0);
  const auto timed_out = orderStatistics(std::vector<double>{1.0, INFINITY, 2.0, 3.0, 1.5, 2.5});
  CHECK(timed_out.estimate() == 2.25);
  CHECK(timed_out.interval(0.95)->low == doctest::Approx(1.17).epsilon(0.01));
  CHECK(timed_out.interval(0.95)->high == INFINITY);
  CHECK_FALSE(orderStatistics(std::vector<double>{-INFINITY, INFINITY}).estimate());
}

TEST_CASE("NaN and nothing give nothing") {
  for (const std::vector<double>& values : {std::vector<double>{}, {1.0, 2.0, 3.0, kNan, 5.0, 6.0, 7.0}}) {
    CHECK_FALSE(orderStatistics(values).estimate());
    CHECK_FALSE(orderStatistics(values).interval(0.95));
    CHECK_FALSE(signedRank(values).estimate());
    CHECK_FALSE(signedRank(values).interval(0.95));
    CHECK(signedRank(values).smallestAlpha([](double, double) { return true; }) == 1.0);
  }
}

TEST_CASE("the signed-rank interval of Hollander & Wolfe, example 3.1") {
  // Hamilton depression scale of nine patients, before and after.
  const std::vector<double> before = {1.83, .50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> after = {.878, .647, .598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> differences;
  for (size_t i = 0; i < before.size(); ++i) differences.push_back(after[i] - before[i]);
  const NestedIntervals result = signedRank(differences);
  CHECK(*result.estimate() == doctest::Approx(-0.46));
  const auto interval = result.interval(0.95);
  REQUIRE(interval);
  CHECK(interval->low == doctest::Approx(-0.786));
  CHECK(interval->high == doctest::Approx(-0.010));
  CHECK(interval->confidence == doctest::Approx(0.961).epsilon(0.001));
  // One-sided p of the test against 0 is .020 (T+ = 5), so two-sided .039.
  CHECK(result.smallestAlpha([](double, double high) { return high < 0; }) == doctest::Approx(0.0390625));
}

TEST_CASE("with six pairs the interval runs from the smallest to the largest difference") {
  const std::vector<double> differences = {0.3, 0.1, 0.2, 0.5, 0.6, 0.4};
  const auto interval = signedRank(differences).interval(0.95);
  REQUIRE(interval);
  CHECK(interval->low == 0.1);
  CHECK(interval->high == 0.6);
  CHECK(interval->confidence == 0.96875);
  CHECK_FALSE(signedRank(std::vector{0.3, 0.1, 0.2, 0.5, 0.6}).interval(0.95));
}

TEST_CASE("ties and zeros neither narrow the interval nor drop pairs") {
  const auto tied = signedRank(std::vector<double>{0, 0, 0, 0, 0, 0, 1}).interval(0.95);
  REQUIRE(tied);
  CHECK(tied->low == 0);
  CHECK(tied->high >= 0.5);
  CHECK(*signedRank(std::vector<double>(8, 0.25)).estimate() == 0.25);
}

TEST_CASE("timeouts count by rank") {
  // A timeout in one of ten treated runs barely moves the estimate; the interval stays finite on the good side.
  std::vector<double> differences = {1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99, -INFINITY};
  const NestedIntervals one = signedRank(differences);
  REQUIRE(one.estimate());
  CHECK(*one.estimate() == doctest::Approx(0.9875).epsilon(0.02));
  CHECK(std::isinf(one.interval(0.95)->low));
  CHECK(std::isfinite(one.interval(0.95)->high));
  // Both directions: averages of opposite infinities are undefined and may only widen the interval.
  differences[0] = INFINITY;
  const auto both = signedRank(differences).interval(0.95);
  CHECK(both->low == -INFINITY);
  CHECK(both->high == INFINITY);
  CHECK_FALSE(signedRank(std::vector<double>{-INFINITY, -INFINITY, INFINITY, INFINITY}).estimate());
  CHECK(*signedRank(std::vector<double>{INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}).estimate() ==
        INFINITY);
}

TEST_CASE("intervals are nested, and mapping keeps them") {
  NormalStream stream(3);
  std::vector<double> sample(12);
  for (double& value : sample) value = stream.next();
  const NestedIntervals result = signedRank(sample);
  std::optional<Interval> outer;
  for (const double confidence : {0.999, 0.99, 0.95, 0.9, 0.5}) {
    const auto inner = result.interval(confidence);
    REQUIRE(inner);
    CHECK(inner->confidence >= confidence);
    if (outer) {
      CHECK(outer->low <= inner->low);
      CHECK(outer->high >= inner->high);
    }
    outer = inner;
    const auto image = result.mapped([](double x) { return std::exp(x); }).interval(confidence);
    CHECK(image->low == std::exp(inner->low));
  }
  for (const size_t questions : {0u, 1000u}) {  // too few to compute any, and enough for all
    const NestedIntervals computed = result.computed(questions);
    for (double edge = -2; edge < 2; edge += 0.1) {
      const auto above = [&](double low, double) { return low >= edge; };
      CHECK(computed.smallestAlpha(above) == result.smallestAlpha(above));
    }
    CHECK(computed.interval(0.95)->high == result.interval(0.95)->high);
  }
  const NestedIntervals constant = NestedIntervals::exactly(7);
  CHECK(constant.interval(0.9999)->low == 7);
  CHECK(constant.smallestAlpha([](double low, double) { return low >= 7; }) == 0);
  CHECK(constant.smallestAlpha([](double low, double) { return low > 7; }) == 1);
}

TEST_CASE("Holm's levels step down and stop") {
  // p = .01 < .05/4, .013 < .05/3, .03 > .05/2: stops there.
  const std::vector<double> levels = holmLevels(std::vector{0.04, 0.01, 0.03, 0.013}, 0.05);
  CHECK(levels[1] == doctest::Approx(0.0125));
  CHECK(levels[3] == doctest::Approx(0.05 / 3));
  CHECK(levels[2] == doctest::Approx(0.025));
  CHECK(levels[0] == doctest::Approx(0.025));  // .04 alone would be below .05
  CHECK(holmLevels(std::vector{0.04}, 0.05)[0] == 0.05);
  CHECK(holmLevels(std::vector<double>{}, 0.05).empty());
}

TEST_CASE("no failure in n trials bounds the share that would fail") {
  CHECK(zeroFailuresBound(10) == doctest::Approx(0.2589).epsilon(0.001));
  CHECK(zeroFailuresBound(59) == doctest::Approx(0.05).epsilon(0.02));
  CHECK(zeroFailuresBound(1) == doctest::Approx(0.95));
  CHECK(zeroFailuresBound(0) == 1.0);
}

TEST_CASE("Tukey's fences flag, and only what is outside") {
  CHECK(tukeyOutliers(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 100}) == std::vector<unsigned>{8});
  CHECK(tukeyOutliers(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 19}) ==
        std::vector<unsigned>{});  // fence: 7 + 3 * 4 = 19
  CHECK(tukeyOutliers(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 20}) == std::vector<unsigned>{8});
  CHECK(tukeyOutliers(std::vector<double>{1, 2, 100}).empty());
  CHECK(tukeyOutliers(std::vector<double>{1, 2, 3, 4, 5, 6, 7, INFINITY}) == std::vector<unsigned>{7});
}

}  // namespace expc::stats
