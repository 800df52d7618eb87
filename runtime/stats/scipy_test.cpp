#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/stats/estimators.h"

// Compares the estimators with an independent implementation: figures of SciPy 1.17.1.

namespace expc::stats {
namespace {

/// Distinct for i = 1 .. 105 (squares modulo a prime), and the same doubles in Python.
std::vector<double> differences(unsigned n) {
  std::vector<double> values;
  for (unsigned i = 1; i <= n; ++i) values.push_back((37 * i * i % 211) / 100.0 - 0.9);
  return values;
}

/// p-values of the test against a centre of `centre`: scipy.stats.wilcoxon(d - centre), exact up to 50 and
/// `method="approx", correction=True` above; scipy.stats.binomtest(how many are below the centre, n).
struct Tested {
  double centre, wilcoxon, binomial;
};
/// scipy.stats.quantile_test(d, p=0.5).confidence_interval(confidence), which has the level of the order statistics
/// that it takes, and the narrower one between two of them (estimator_figures.py).
struct Covered {
  double confidence, level, low, high, narrower_low, narrower_high;
};
struct Expected {
  unsigned n;
  double hodges_lehmann, median;  // numpy.median of the Walsh averages, and of the values
  std::vector<Tested> tested;
  std::vector<Covered> covered;
};

const std::vector<Expected> kExpected = {
    {12,
     -0.05000000000000003,
     -0.16499999999999998,
     {{-0.4321, 0.02099609375, 0.14599609375},
      {-0.0123, 0.85009765625, 0.7744140625},
      {0.3217, 0.0341796875, 0.14599609375}},
     {{0.95, 0.96142578125, -0.44, 0.35, -0.4376315789473684, 0.34289473684210525},
      {0.99, 0.99365234375, -0.47000000000000003, 0.58, -0.45858695652173914, 0.49249999999999994}}},
    {50,
     0.07499999999999996,
     0.10499999999999998,
     {{-0.4321, 2.649707155910619e-07, 9.021490107130603e-05},
      {-0.0123, 0.30905100446984335, 0.6718110337653656},
      {0.3217, 0.0054056035788701, 0.032839137564268484}},
     {{0.95, 0.9671608624357315, -0.21000000000000008, 0.31999999999999995, -0.20331695331695337, 0.30663390663390655},
      {0.99, 0.9933995520331891, -0.26, 0.36, -0.24879120879120878, 0.35439560439560436}}},
    {60,
     0.07999999999999999,
     0.07999999999999996,
     {{-0.4321, 1.4416093125576864e-07, 1.2146708022957309e-05},
      {-0.0123, 0.23738935207615197, 0.6988834276200058},
      {0.3217, 0.0032719636104765444, 0.01348929373119186}},
     {{0.95, 0.972659866131922, -0.20000000000000007, 0.30999999999999994, -0.19046768707483, 0.30046768707482985},
      {0.99, 0.9937823973406733, -0.24, 0.35, -0.21958762886597943, 0.32958762886597937}}},
};

/// The p-value of the intervals: the smallest alpha at which they exclude the centre on either side.
double pValue(const NestedIntervals& intervals, double centre) {
  return intervals.smallestAlpha([&](double low, double high) { return centre < low || centre > high; });
}

constexpr double kClose = 1e-9;

}  // namespace

TEST_CASE("estimates and p-values are SciPy's") {
  for (const Expected& expected : kExpected) {
    CAPTURE(expected.n);
    const std::vector<double> values = differences(expected.n);
    const NestedIntervals ranks = signedRank(values), order = orderStatistics(values);
    CHECK(std::abs(*ranks.estimate() - expected.hodges_lehmann) < kClose);
    CHECK(std::abs(*order.estimate() - expected.median) < kClose);
    for (const Tested& test : expected.tested) {
      CAPTURE(test.centre);
      CHECK(std::abs(pValue(ranks, test.centre) - test.wilcoxon) < kClose);
      // Between two levels the p-value is the smaller one, because the interval is the narrower one.
      CHECK(pValue(order, test.centre) <= test.binomial + kClose);
    }
  }
}

TEST_CASE("the median's intervals are SciPy's") {
  for (const Expected& expected : kExpected) {
    for (const Covered& covered : expected.covered) {
      CAPTURE(expected.n);
      CAPTURE(covered.confidence);
      const NestedIntervals intervals = orderStatistics(differences(expected.n));
      const auto exact = intervals.interval(covered.level), narrower = intervals.interval(covered.confidence);
      REQUIRE(exact);
      CHECK(std::abs(exact->low - covered.low) < kClose);
      CHECK(std::abs(exact->high - covered.high) < kClose);
      CHECK(std::abs(narrower->low - covered.narrower_low) < kClose);
      CHECK(std::abs(narrower->high - covered.narrower_high) < kClose);
    }
  }
}

}  // namespace expc::stats
