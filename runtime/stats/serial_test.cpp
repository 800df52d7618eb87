#include "runtime/stats/serial.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"

namespace expc::stats {
namespace {

std::vector<double> goingOn(unsigned n, double carry, NormalStream& stream) {
  std::vector<double> values{stream.next()};
  while (values.size() < n) values.push_back(carry * values.back() + std::sqrt(1 - carry * carry) * stream.next());
  return values;
}

double correlationOf(const std::vector<double>& values) {
  SerialCorrelation found;
  found.add(values, std::vector<int64_t>(values.size(), 1));
  return found.value();
}

}  // namespace

TEST_CASE("the correlation of long runs is found, and of values that do not go on there is none") {
  NormalStream stream(3);
  CHECK(correlationOf(goingOn(5000, 0.8, stream)) == doctest::Approx(0.8).epsilon(0.03));
  CHECK(correlationOf(goingOn(5000, 0.3, stream)) == doctest::Approx(0.3).epsilon(0.1));
  CHECK(correlationOf({1, 2, 1, 2, 1, 2, 1, 2}) == 0);
  CHECK(correlationOf({5, 5, 5, 5, 5, 5}) == 0);
  CHECK(correlationOf({1, 2}) == 0);
  CHECK(SerialCorrelation().value() == 0);
}

TEST_CASE("values of one session and the next are no neighbours, and a trend is one long correlation") {
  SerialCorrelation apart;
  apart.add(std::vector<double>{1, 1, 9, 9}, std::vector<int64_t>{1, 2, 3, 4});
  CHECK(apart.value() == 0);
  std::vector<double> rising(20);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = double(i);
  CHECK(correlationOf(rising) > 0.9);
}

TEST_CASE("the number below the median varies as much more as it is said to") {
  CHECK(inflationOf(0, std::vector<int64_t>(9, 1)) == 1);
  constexpr unsigned kN = 30, kSamples = 20'000;
  NormalStream stream(5);
  double sum = 0;
  for (unsigned i = 0; i < kSamples; ++i) {
    int below = 0;
    for (const double value : goingOn(kN, 0.6, stream)) below += value < 0 ? 1 : -1;
    sum += double(below) * below;
  }
  CHECK(inflationOf(0.6, std::vector<int64_t>(kN, 1)) == doctest::Approx(sum / kSamples / kN).epsilon(0.05));
  // Sessions know nothing of each other.
  CHECK(inflationOf(0.99, std::vector<int64_t>{1, 1, 2, 2, 3, 3}) == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("order statistics of values that are worth fewer are those of fewer") {
  std::vector<double> values(20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i);
  const auto plain = orderStatistics(values).interval(0.95), wide = orderStatistics(values, 2.5).interval(0.95);
  CHECK(wide->low < plain->low);
  CHECK(wide->high > plain->high);
  // Worth five, even their range misses more often.
  const auto beyond = orderStatistics(values, 4).interval(0.95);
  REQUIRE(beyond);
  CHECK(beyond->low < 0);
  CHECK(beyond->high > 19);
  CHECK(beyond->confidence == doctest::Approx(0.95).epsilon(0.002));
  CHECK_FALSE(orderStatistics(values, 20).interval(0.95));
  // No more is known of few values that go on than of as many independent ones.
  CHECK_FALSE(orderStatistics(std::vector<double>{1, 2, 3, 4, 5}, 2).interval(0.95));
  double alpha = 1;
  const auto nested = orderStatistics(values, 3);
  for (double edge = 0; edge < 200; edge += 0.5) {
    const double now = nested.smallestAlpha([&](double low, double high) { return low >= -edge && high <= 19 + edge; });
    CHECK(now <= alpha);
    alpha = now;
  }
}

}  // namespace expc::stats
