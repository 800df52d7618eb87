#include "runtime/stats/estimators.h"

#include <cmath>
#include <limits>

#include "runtime/stats/distributions.h"

namespace expc::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool hasNan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

/// Mean of two values that may be infinite; NaN for infinities of different sign.
double middle(double a, double b) { return a == b ? a : a / 2 + b / 2; }

/// Median of sorted values.
double medianOfSorted(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return middle(sorted[(n - 1) / 2], sorted[n / 2]);
}

/// Walsh averages with an undefined one (of opposite infinities) taken as `undefined`, sorted.
std::vector<double> walshAverages(std::span<const double> values, double undefined) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i; j < values.size(); ++j) {
      const double average = middle(values[i], values[j]);
      averages.push_back(std::isnan(average) ? undefined : average);
    }
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

bool hasBothInfinities(std::span<const double> values) {
  return std::find(values.begin(), values.end(), kInfinity) != values.end() &&
         std::find(values.begin(), values.end(), -kInfinity) != values.end();
}

/// Intervals [lower(k), upper(m-1-k)] with alpha 2 P(statistic <= k), as far as they stay two-sided.
template <class Cdf>
std::vector<NestedIntervals::Entry> nest(const std::vector<double>& lower, const std::vector<double>& upper, Cdf cdf) {
  std::vector<NestedIntervals::Entry> entries;
  const size_t m = lower.size();
  for (size_t k = 0; k < m - k; ++k) {
    const double alpha = 2 * cdf(static_cast<unsigned>(k));
    if (alpha >= 1) break;
    entries.push_back({lower[k], upper[m - 1 - k], alpha});
  }
  return entries;
}

}  // namespace

NestedIntervals orderStatistics(std::span<const double> values) {
  if (values.empty() || hasNan(values)) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double median = medianOfSorted(sorted);
  const auto n = static_cast<unsigned>(sorted.size());
  return {std::isnan(median) ? std::nullopt : std::optional(median),
          nest(sorted, sorted, [n](unsigned k) { return fairCoinCdf(k, n); })};
}

NestedIntervals signedRank(std::span<const double> differences) {
  if (differences.empty() || hasNan(differences)) return {};
  const auto n = static_cast<unsigned>(differences.size());
  const std::vector<double> lower = walshAverages(differences, -kInfinity);
  std::vector<double> upper;
  const bool undefined = hasBothInfinities(differences);
  if (undefined) upper = walshAverages(differences, kInfinity);
  const std::vector<double>& high = undefined ? upper : lower;

  const double median = medianOfSorted(lower);
  const bool certain = !std::isnan(median) && (!undefined || median == medianOfSorted(high));
  const std::optional<double> estimate = certain ? std::optional(median) : std::nullopt;
  if (n > kExactPairs) {
    return {estimate, nest(lower, high, [n](unsigned k) { return signedRankCdfApproximate(k, n); })};
  }
  const auto cdf = signedRankCdf(n);
  return {estimate, nest(lower, high, [&](unsigned k) { return (*cdf)[k]; })};
}

}  // namespace expc::stats
