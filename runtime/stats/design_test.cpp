#include "runtime/stats/design.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"

namespace expc::stats {

TEST_CASE("the smallest number of pairs is that of the design") {
  const std::vector<std::pair<unsigned, unsigned>> expected = {{0, 6},   {1, 6},   {2, 7},   {3, 7},  {4, 8},
                                                               {5, 8},   {6, 8},   {7, 9},   {9, 9},  {12, 9},
                                                               {13, 10}, {20, 10}, {25, 10}, {26, 11}};
  for (const auto& [cells, pairs] : expected) {
    CAPTURE(cells);
    CHECK(minimumPairs(0.95, cells) == pairs);
  }
  CHECK(minimumPairs(0.99) == 8);
  CHECK(minimumPairs(0.90) == 5);
  CHECK(minimumPairs(0.5) == 2);
}

TEST_CASE("an interval exists at exactly the smallest number") {
  for (const double confidence : {0.8, 0.9, 0.95, 0.99, 0.999}) {
    for (const unsigned cells : {1u, 3u, 4u, 20u}) {
      const unsigned n = minimumPairs(confidence, cells);
      const double holm = 1 - (1 - confidence) / cells;
      const std::vector<double> enough(n, 1.0), less(n - 1, 1.0);
      CAPTURE(confidence);
      CAPTURE(cells);
      CHECK(signedRank(enough).interval(holm));
      CHECK_FALSE(signedRank(less).interval(holm));
      CHECK(orderStatistics(enough).interval(holm));
      CHECK_FALSE(orderStatistics(less).interval(holm));
    }
  }
}

TEST_CASE("the expected resolution is that of the design") {
  // docs/layers/statistics.md prints 1.8 % with 6 pairs, 1.0 % with 10, 0.7 % with 20.
  const auto tenths = [](double share) { return std::round(share * 1000) / 10; };
  CHECK(tenths(expectedHalfWidth(0.01, 6)) == 1.8);
  CHECK(tenths(expectedHalfWidth(0.01, 10)) == 1.0);
  CHECK(tenths(expectedHalfWidth(0.01, 20)) == 0.7);
  // With 6 pairs it is half the expected range of six normal values, d2(6) = 2.534 (Tippett 1925).
  CHECK(expectedHalfWidth(1, 6) == doctest::Approx(std::sqrt(2.0) * 2.534 / 2).epsilon(0.01));
  CHECK(expectedHalfWidth(0.03, 10) == doctest::Approx(3 * expectedHalfWidth(0.01, 10)));
  CHECK(std::isinf(expectedHalfWidth(0.01, 5)));
}

TEST_CASE("resolution grows with pairs and passes smoothly into the formula") {
  // With equal alphas asked, what is attained jumps with n, so neighbours may tie: compare at steps.
  double before = expectedHalfWidth(1, 6);
  for (const unsigned n : {8u, 12u, 16u, 24u, 36u, 50u, 80u}) {
    const double now = expectedHalfWidth(1, n);
    CHECK(now < before);
    before = now;
  }
  CHECK(expectedHalfWidth(1, 51) == doctest::Approx(expectedHalfWidth(1, 50)).epsilon(0.04));
  CHECK(expectedHalfWidth(1, 20, 0.99) > expectedHalfWidth(1, 20, 0.95));
}

}  // namespace expc::stats
