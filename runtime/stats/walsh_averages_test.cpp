#include "runtime/stats/walsh_averages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/stats/estimators.h"
#include "runtime/stats/running_median.h"

namespace expc::stats {
namespace {

constexpr double kInf = INFINITY;

/// All averages, sorted.
std::vector<double> stored(const std::vector<double>& values, double undefined) {
  std::vector<double> averages;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = i; j < values.size(); ++j) {
      const double average = middle(values[i], values[j]);
      averages.push_back(std::isnan(average) ? undefined : average);
    }
  std::ranges::sort(averages);
  return averages;
}

void compare(const std::vector<double>& values) {
  for (const double undefined : {-kInf, kInf}) {
    const std::vector<double> expected = stored(values, undefined);
    const WalshAverages counted(values, undefined, 0), sorted(values, undefined);
    REQUIRE(counted.size() == expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      CHECK(counted.at(k) == expected[k]);
      CHECK(sorted.at(k) == expected[k]);
    }
  }
}

}  // namespace

TEST_CASE("Walsh averages that are found by counting are those of the sorted list") {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (const size_t n : {1, 2, 3, 7, 20, 45}) {
    std::vector<double> plain, tied, extreme;
    for (size_t i = 0; i < n; ++i) {
      plain.push_back(normal(random) * std::pow(10, int(random() % 7) - 3));
      tied.push_back(double(random() % 5) - 2);
      const double ends[] = {kInf, -kInf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1};
      extreme.push_back(ends[random() % std::size(ends)]);
    }
    compare(plain);
    compare(tied);
    compare(extreme);
  }
}

TEST_CASE("a zero average has no sign") {
  const WalshAverages averages(std::vector<double>{-1, -0.0, 1}, kInf);
  CHECK_FALSE(std::signbit(averages.median()));
}

TEST_CASE("many pairs take no more memory than they are") {
  // The averages of 30,000 differences would be 3.6 GB.
  std::vector<double> differences;
  for (int i = 0; i < 30000; ++i) differences.push_back(i - 14999.5 + 3);
  const NestedIntervals intervals = signedRank(differences);
  CHECK(*intervals.estimate() == doctest::Approx(3));
  const auto interval = intervals.interval(0.95);
  REQUIRE(interval.has_value());
  CHECK(interval->low < 3);
  CHECK(interval->high > 3);
  CHECK(interval->high - interval->low < 250);
}

TEST_CASE("a running median is the upper middle of what came so far") {
  std::mt19937 random(5);
  RunningMedian running;
  CHECK_FALSE(running.median().has_value());
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) {
    values.push_back(double(random() % 50));
    running.add(values.back());
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    CHECK(running.median() == sorted[sorted.size() / 2]);
    CHECK(running.size() == values.size());
  }
}

}  // namespace expc::stats
