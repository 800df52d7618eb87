// Both estimators return functions of k over sorted data: interval k + 1 lies inside interval k. Captured data is
// shared by copies of a result, so copying NestedIntervals is cheap and a result outlives the values that it was
// made of.

#include "runtime/stats/estimators.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/walsh_averages.h"

namespace expc::stats {
namespace {

bool hasBothInfinities(std::span<const double> values) {
  return std::ranges::count(values, INFINITY) > 0 && std::ranges::count(values, -INFINITY) > 0;
}

/// The number of two-sided intervals [lower(k), upper(m-1-k)] among m ordered statistics.
size_t twoSided(size_t m) { return (m + 1) / 2; }

/// Interpolates from `outer` to `inner`. An infinite end leaves no value between them, so the interval stays as wide as
/// it was.
double between(double outer, double inner, double weight) {
  const double value = outer + weight * (inner - outer);
  return std::isfinite(value) ? value : outer;
}

/// The probability that the signed-rank statistic of n differences is at most k.
std::function<double(size_t)> signedRankProbability(unsigned n) {
  if (n > kExactPairs) return [n](size_t k) { return signedRankCdfApproximate(double(k), n); };
  return [cdf = signedRankCdf(n)](size_t k) { return (*cdf)[k]; };
}

}  // namespace

NestedIntervals orderStatistics(std::span<const double> values) {
  if (values.empty() || hasNan(values)) return {};
  auto sorted = std::make_shared<std::vector<double>>(values.begin(), values.end());
  std::ranges::sort(*sorted);
  const size_t n = sorted->size();
  const double median = middle((*sorted)[(n - 1) / 2], (*sorted)[n / 2]);
  const auto exact = [n](size_t depth) { return 2 * fairCoinCdf(double(depth), double(n)); };
  const auto alpha = [=](size_t k) {
    // `k` counts steps of kStepsBetween between neighbouring depths; depth d uses the values d from both ends.
    // Between two depths the error is interpolated linearly, and the ends by the weights of Hettmansperger &
    // Sheather (below).
    const size_t depth = k / kStepsBetween;
    const double outer = exact(depth), part = double(k % kStepsBetween) / kStepsBetween;
    return part == 0 ? outer : outer + part * (std::min(1.0, exact(depth + 1)) - outer);
  };
  return {std::isnan(median) ? std::nullopt : std::optional(median), (twoSided(n) - 1) * kStepsBetween + 1, alpha,
          [=](size_t k) {
            const size_t depth = k / kStepsBetween;
            const double part = double(k % kStepsBetween) / kStepsBetween, at = double(depth + 1);
            const double low = (*sorted)[depth], high = (*sorted)[n - 1 - depth];
            if (part == 0) return std::pair(low, high);
            // Weight of the inner order statistic: (n - d) I / (d + (n - 2 d) I) at depth d from 1 (Hettmansperger
            // & Sheather 1986).
            const double weight = (double(n) - at) * part / (at + (double(n) - 2 * at) * part);
            return std::pair(between(low, (*sorted)[depth + 1], weight),
                             between(high, (*sorted)[n - 2 - depth], weight));
          }};
}

std::optional<double> medianOf(std::span<const double> values) { return orderStatistics(values).estimate(); }

NestedIntervals signedRank(std::span<const double> differences) {
  if (differences.empty() || hasNan(differences)) return {};
  // The averages of opposite infinities count as -inf in the lower ends and as +inf in the upper ones. A second set
  // of averages is needed only then.
  const auto lower = std::make_shared<const WalshAverages>(differences, -INFINITY);
  const bool undefined = hasBothInfinities(differences);
  const auto upper = undefined ? std::make_shared<const WalshAverages>(differences, INFINITY) : lower;
  const size_t m = lower->size();

  // The estimate is certain only if it is the same whichever way those averages are taken.
  const double median = lower->median();
  const bool certain = !std::isnan(median) && (!undefined || median == upper->median());
  return {certain ? std::optional(median) : std::nullopt, twoSided(m),
          [probability = signedRankProbability(unsigned(differences.size()))](size_t k) { return 2 * probability(k); },
          [lower, upper, m](size_t k) { return std::pair(lower->at(k), upper->at(m - 1 - k)); }};
}

}  // namespace expc::stats
