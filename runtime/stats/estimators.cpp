#include "runtime/stats/estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/walsh_averages.h"

namespace expc::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool hasNan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

bool hasBothInfinities(std::span<const double> values) {
  return std::find(values.begin(), values.end(), kInfinity) != values.end() &&
         std::find(values.begin(), values.end(), -kInfinity) != values.end();
}

/// Of m ordered statistics as many intervals [lower(k), upper(m-1-k)] have two sides.
size_t twoSided(size_t m) { return (m + 1) / 2; }

/// The probability that the signed-rank statistic of n differences is at most k.
std::function<double(size_t)> signedRankProbability(unsigned n) {
  if (n > kExactPairs) return [n](size_t k) { return signedRankCdfApproximate(static_cast<double>(k), n); };
  return [cdf = signedRankCdf(n)](size_t k) { return (*cdf)[k]; };
}

}  // namespace

NestedIntervals orderStatistics(std::span<const double> values, double inflation) {
  if (values.empty() || hasNan(values)) return {};
  auto sorted = std::make_shared<std::vector<double>>(values.begin(), values.end());
  std::sort(sorted->begin(), sorted->end());
  const size_t n = sorted->size();
  const double median = middle((*sorted)[(n - 1) / 2], (*sorted)[n / 2]);
  return {std::isnan(median) ? std::nullopt : std::optional(median), twoSided(n),
          [n, inflation](size_t k) { return 2 * fairCoinCdf(double(k) / inflation, double(n) / inflation); },
          [sorted, n](size_t k) { return std::pair((*sorted)[k], (*sorted)[n - 1 - k]); }};
}

NestedIntervals signedRank(std::span<const double> differences) {
  if (differences.empty() || hasNan(differences)) return {};
  const auto lower = std::make_shared<const WalshAverages>(differences, -kInfinity);
  const bool undefined = hasBothInfinities(differences);
  const auto upper = undefined ? std::make_shared<const WalshAverages>(differences, kInfinity) : lower;
  const size_t m = lower->size();

  const double median = lower->median();
  const bool certain = !std::isnan(median) && (!undefined || median == upper->median());
  return {certain ? std::optional(median) : std::nullopt, twoSided(m),
          [probability = signedRankProbability(static_cast<unsigned>(differences.size()))](size_t k) {
            return 2 * probability(k);
          },
          [lower, upper, m](size_t k) { return std::pair(lower->at(k), upper->at(m - 1 - k)); }};
}

}  // namespace expc::stats
