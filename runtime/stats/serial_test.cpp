#include "runtime/stats/serial.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"

namespace expc::stats {
namespace {

std::vector<double> correlated(unsigned n, double carry, NormalStream& stream) {
  std::vector<double> values{stream.next()};
  while (values.size() < n) values.push_back(carry * values.back() + std::sqrt(1 - carry * carry) * stream.next());
  return values;
}

double atMost(const std::vector<double>& values, Pairing pairing = Pairing::Alone) {
  SerialCorrelation found;
  found.add(values, std::vector<int64_t>(values.size(), 1));
  return found.atMost(pairing);
}

/// These doubles are the same in Python.
std::vector<double> slow(unsigned n) {
  std::vector<double> values;
  for (unsigned i = 0; i < n; ++i) values.push_back(0.25 * std::sin(i / 3.0) + (37 * i * i % 211) / 211.0);
  return values;
}

/// Simulated studies of correlated values: the share without a trend; the share of these whose interval holds the
/// truth; and the median width, relative to the same interval without any allowance.
struct Simulated {
  double judged, covered, width;
};
Simulated simulate(unsigned n, double carry, Pairing pairing) {
  constexpr unsigned kStudies = 2000;
  NormalStream stream(n);
  const std::vector<int64_t> sessions(n, 1);
  unsigned judged = 0, covered = 0;
  std::vector<double> widths;
  for (unsigned i = 0; i < kStudies; ++i) {
    const std::vector<double> values = correlated(n, carry, stream);
    const double correlation = atMost(values, pairing);
    const NestedIntervals plain = pairing == Pairing::Alone ? orderStatistics(values) : signedRank(values);
    const auto narrow = plain.interval(0.95), wide = widened(plain, correlation, sessions).interval(0.95);
    widths.push_back((wide->high - wide->low) / (narrow->high - narrow->low));
    if (correlation > 0 && trendOf(values, sessions) != 0) continue;
    ++judged;
    covered += wide->low <= 0 && 0 <= wide->high;
  }
  return {double(judged) / kStudies, double(covered) / judged, *orderStatistics(widths).estimate()};
}

/// Simulated studies of noisy times, whose logarithms are correlated: how often the intervals that are widened on a
/// scale hold the true median, lie above and below it, and reach 0; and the mean distance of their upper ends, as a
/// logarithm. All in per cent but the last.
struct Noisy {
  double covered = 0, above = 0, below = 0, zero = 0, upper = 0;
};
Noisy noisy(Scale scale, double noise, unsigned n, double carry) {
  constexpr unsigned kStudies = 1000;
  NormalStream stream(n);
  const std::vector<int64_t> sessions(n, 1);
  Noisy sum;
  double judged = 0;
  for (unsigned i = 0; i < kStudies; ++i) {
    std::vector<double> values = correlated(n, carry, stream);
    for (double& value : values) value = std::exp(noise * value);
    const double correlation = atMost(values);
    if (correlation > 0 && trendOf(values, sessions) != 0) continue;
    const NestedIntervals plain = orderStatistics(values);
    const Interval interval = *widened(plain, correlation, sessions, scale).interval(0.95);
    ++judged;
    sum.covered += 100 * (interval.low <= 1 && 1 <= interval.high);
    sum.above += 100 * (interval.low > 1);
    sum.below += 100 * (interval.high < 1);
    sum.zero += 100 * (interval.low <= 0);
    sum.upper += std::log(interval.high / *plain.estimate());
  }
  for (double* one : {&sum.covered, &sum.above, &sum.below, &sum.zero, &sum.upper}) *one /= judged;
  return sum;
}

}  // namespace

TEST_CASE("widened on logarithms, intervals of noisy times do not reach 0 and cover as often, alike on both sides") {
  for (const double noise : {0.05, 0.3, 0.6})
    for (const unsigned n : {6u, 10u, 20u})
      for (const double carry : {0.0, 0.5, 0.8}) {
        const Noisy linear = noisy(Scale::Linear, noise, n, carry), log = noisy(Scale::Logarithmic, noise, n, carry);
        CAPTURE(noise);
        CAPTURE(n);
        CAPTURE(carry);
        MESSAGE(noise, " ", n, " ", carry, ": covered ", linear.covered, " ", log.covered, ", above ", linear.above,
                " ", log.above, ", below ", linear.below, " ", log.below, ", zero ", linear.zero, ", upper ",
                linear.upper, " ", log.upper);
        CHECK(log.zero == 0);
        CHECK(log.covered >= linear.covered - 1);
        CHECK(std::abs(log.above - log.below) <= std::abs(linear.above - linear.below) + 1.5);
      }
}

TEST_CASE("bounds of correlations and what they make of intervals are those of NumPy (estimator_figures.py)") {
  constexpr double kClose = 1e-9;
  CHECK(std::abs(atMost(slow(6)) - 0.985) < kClose);
  CHECK(atMost(slow(6), Pairing::Paired) == 0);
  CHECK(atMost(slow(12), Pairing::Paired) == 0);
  CHECK(std::abs(atMost(slow(60)) - 0.7221656509750835) < kClose);
  CHECK(std::abs(atMost(slow(60), Pairing::Paired) - 0.6293046467677711) < kClose);
  const auto stretch = [](unsigned n, double correlation, double confidence) {
    std::vector<double> values(n);
    for (unsigned i = 0; i < n; ++i) values[i] = double(i);
    const NestedIntervals plain = orderStatistics(values);
    const Interval narrow = *plain.interval(confidence);
    const Interval wide = *widened(plain, correlation, std::vector<int64_t>(n, 1)).interval(confidence);
    return std::pair((wide.high - wide.low) / (narrow.high - narrow.low), 1 - narrow.confidence);
  };
  // Levels come in steps, so figures agree up to a step.
  CHECK(stretch(10, 0.5, 0.95).first == doctest::Approx(2.1827423290025396).epsilon(0.005));
  CHECK(stretch(20, 0.9, 0.95).first == doctest::Approx(6.453610555492762).epsilon(0.005));
  CHECK(stretch(50, 0.98, 0.99).first == doctest::Approx(19.965014624314907).epsilon(0.02));
}

TEST_CASE("the bound of a long run is near its correlation, and values that alternate have none") {
  NormalStream stream(3);
  CHECK(atMost(correlated(5000, 0.8, stream)) == doctest::Approx(0.82).epsilon(0.03));
  CHECK(atMost(correlated(5000, 0.3, stream)) == doctest::Approx(0.32).epsilon(0.1));
  CHECK(atMost({1, 2, 1, 2, 1, 2, 1, 2}) == 0);
  CHECK(atMost({5, 5, 5, 5, 5, 5}) == 0);
  CHECK(atMost({1, 2}) == 0);
  CHECK(SerialCorrelation().atMost(Pairing::Alone) == 0);
}

TEST_CASE("values of one session and the next are no neighbours") {
  SerialCorrelation apart;
  apart.add(std::vector<double>{1, 1, 9, 9}, std::vector<int64_t>{1, 2, 3, 4});
  CHECK(apart.atMost(Pairing::Alone) == 0);
  // Differences between sessions are not correlation inside them.
  NormalStream stream(4);
  std::vector<double> values;
  std::vector<int64_t> sessions;
  for (int64_t i = 0; i < 400; ++i) values.push_back(100 * double(i / 40) + stream.next()), sessions.push_back(i / 40);
  SerialCorrelation inside;
  inside.add(values, sessions);
  CHECK(inside.atMost(Pairing::Paired) < 0.2);
}

TEST_CASE("a trend is one, and neither independent values nor a level that wanders is") {
  std::vector<double> rising(20);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = double(i);
  const std::vector<int64_t> one(20, 1);
  CHECK(trendOf(rising, one) == 1);
  NormalStream stream(6);
  unsigned independent = 0, wandering = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    independent += trendOf(correlated(20, 0, stream), one) != 0;
    wandering += trendOf(correlated(20, 0.5, stream), one) != 0;
  }
  CHECK(independent < 10);
  CHECK(wandering < 100);
}

TEST_CASE("the mean varies as much more as it is said to") {
  CHECK(inflationOf(0, std::vector<int64_t>(9, 1)) == 1);
  constexpr unsigned kN = 30, kSamples = 20'000;
  NormalStream stream(5);
  double sum = 0;
  for (unsigned i = 0; i < kSamples; ++i) {
    double all = 0;
    for (const double value : correlated(kN, 0.6, stream)) all += value;
    sum += all * all;
  }
  CHECK(inflationOf(0.6, std::vector<int64_t>(kN, 1)) == doctest::Approx(sum / kSamples / kN).epsilon(0.05));
  // Sessions are independent of each other.
  CHECK(inflationOf(0.99, std::vector<int64_t>{1, 1, 2, 2, 3, 3}) == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("intervals of one point cover whatever the correlation, and those of independent values stay narrow") {
  for (const unsigned n : {6u, 10u, 20u, 50u}) {
    for (const double carry : {0.0, 0.5, 0.8}) {
      CAPTURE(n);
      CAPTURE(carry);
      CHECK(simulate(n, carry, Pairing::Alone).covered >= 0.905);
    }
    if (n >= 10) CHECK(simulate(n, 0, Pairing::Alone).width <= 1.01);
  }
  CHECK(simulate(20, 0.95, Pairing::Alone).covered >= 0.89);
  CHECK(simulate(50, 0.95, Pairing::Alone).covered >= 0.92);
}

TEST_CASE("intervals of pairs cover where each arm is correlated with itself, and independent ones stay narrow") {
  for (const unsigned n : {20u, 40u}) {
    for (const double carry : {0.5, 0.8, 0.95}) {
      CAPTURE(n);
      CAPTURE(carry);
      CHECK(simulate(n, carry, Pairing::Paired).covered >= 0.89);
    }
    CHECK(simulate(n, 0, Pairing::Paired).width <= 1.03);
  }
  CHECK(simulate(10, 0, Pairing::Paired).width <= 1.03);
}

TEST_CASE("widened intervals are nested, and no level is more than as many independent values have") {
  std::vector<double> values(20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i);
  const std::vector<int64_t> one(20, 1);
  double alpha = 1;
  const auto nested = widened(orderStatistics(values), 0.7, one);
  for (double edge = 0; edge < 200; edge += 0.5) {
    const double now = nested.smallestAlpha([&](double low, double high) { return low >= -edge && high <= 19 + edge; });
    CHECK(now <= alpha);
    alpha = now;
  }
  // Magnitudes are widened as their logarithms are, so that no interval reaches 0.
  std::vector<double> magnitudes(19);
  for (size_t i = 0; i < magnitudes.size(); ++i) magnitudes[i] = std::exp(values[i]);
  const std::span<const double> logarithms(values.data(), 19);
  const std::span<const int64_t> sessions(one.data(), 19);
  for (const double confidence : {0.5, 0.95, 0.99}) {
    const Interval interval =
        *widened(orderStatistics(magnitudes), 0.7, sessions, Scale::Logarithmic).interval(confidence);
    const Interval of_logarithms = *widened(orderStatistics(logarithms), 0.7, sessions).interval(confidence);
    // Between two ranks both interpolate, each on its scale.
    CHECK(std::log(interval.low) == doctest::Approx(of_logarithms.low).epsilon(0.1));
    CHECK(interval.low > 0);
    CHECK(std::log(interval.high) == doctest::Approx(of_logarithms.high).epsilon(0.1));
  }
  magnitudes[0] = 0;
  magnitudes[18] = INFINITY;
  const NestedIntervals ends = widened(orderStatistics(magnitudes), 0.7, sessions, Scale::Logarithmic);
  CHECK(ends.interval(0.999996)->low == 0);
  CHECK(ends.interval(0.999996)->high == INFINITY);
  const std::vector<double> few{1, 2, 3, 4, 5};
  CHECK_FALSE(widened(orderStatistics(few), 0.5, std::vector<int64_t>(5, 1)).interval(0.95));
}

}  // namespace expc::stats
