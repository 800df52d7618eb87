#include "runtime/stats/estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/walsh_averages.h"

namespace expc::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool hasBothInfinities(std::span<const double> values) {
  return std::ranges::find(values, kInfinity) != values.end() && std::ranges::find(values, -kInfinity) != values.end();
}

/// Of m ordered statistics as many intervals [lower(k), upper(m-1-k)] have two sides.
size_t twoSided(size_t m) { return (m + 1) / 2; }

constexpr size_t kLevelsBeyond = 1000;  // of intervals that reach beyond the range of values
constexpr double kLeastLevel = 1e-12;

/// Of the mean of values that are worth so many, by their own scatter, of which their mean takes its part away.
double errorOfMean(const std::vector<double>& values, double worth) {
  const double n = double(values.size()), mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / n / (worth - 1));
}

/// The probability that the signed-rank statistic of n differences is at most k.
std::function<double(size_t)> signedRankProbability(unsigned n) {
  if (n > kExactPairs) return [n](size_t k) { return signedRankCdfApproximate(static_cast<double>(k), n); };
  return [cdf = signedRankCdf(n)](size_t k) { return (*cdf)[k]; };
}

}  // namespace

NestedIntervals orderStatistics(std::span<const double> values, double inflation) {
  if (values.empty() || hasNan(values)) return {};
  auto sorted = std::make_shared<std::vector<double>>(values.begin(), values.end());
  std::ranges::sort(*sorted);
  const size_t n = sorted->size();
  const double median = middle((*sorted)[(n - 1) / 2], (*sorted)[n / 2]), worth = double(n) / inflation;
  const double error = inflation > 1 && worth >= kLeastWorth ? errorOfMean(*sorted, worth) : kInfinity;
  const double least = std::max(kLeastLevel, std::exp2(1 - double(n))), most = std::exp2(1 - worth);
  const size_t beyond = std::isfinite(error) && least < most ? kLevelsBeyond : 0;
  const auto alpha = [=](size_t k) {
    return k < beyond ? least * std::pow(most / least, double(k) / double(beyond))
                      : 2 * fairCoinCdf(double(k - beyond) / inflation, worth);
  };
  return {std::isnan(median) ? std::nullopt : std::optional(median), twoSided(n) + beyond, alpha, [=](size_t k) {
            if (k >= beyond) return std::pair((*sorted)[k - beyond], (*sorted)[n - 1 - (k - beyond)]);
            const double reach = studentQuantile(alpha(k), (worth - 1) / 2) * error;
            return std::pair(std::min(sorted->front(), median - reach), std::max(sorted->back(), median + reach));
          }};
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
