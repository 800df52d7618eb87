#include "runtime/stats/procedures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/stats/distributions.h"
#include "runtime/stats/nested_intervals.h"

namespace expc::stats {

/// Levels are assigned in the order of the p-values, but returned in that of the hypotheses. The sort is stable, so
/// equal p-values have the same levels on every platform.
std::vector<double> holmLevels(std::span<const double> p_values, double alpha, size_t least) {
  const size_t m = p_values.size();
  std::vector<size_t> order(m);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> levels(m, alpha);
  bool rejecting = true;
  double level = alpha;
  for (size_t i = 0; i < m; ++i) {
    if (rejecting) level = alpha / double(m - std::max(i, least - 1));
    levels[order[i]] = level;
    rejecting = rejecting && significant(p_values[order[i]], level);
  }
  return levels;
}

double partialConjunction(std::span<const double> p_values, size_t least) {
  const size_t m = p_values.size();
  if (least == 0) return 0;
  if (least > m) return 1;
  std::vector<double> ordered(p_values.begin(), p_values.end());
  const auto at = ordered.begin() + ptrdiff_t(least - 1);
  std::ranges::nth_element(ordered, at);
  return std::min(1.0, double(m - least + 1) * *at);
}

double meanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

double normalScore(double rank, size_t n) { return normalQuantile((rank - 0.375) / (double(n) + 0.25)); }

std::map<int64_t, std::vector<double>> bySession(std::span<const double> values, std::span<const int64_t> sessions) {
  std::map<int64_t, std::vector<double>> groups;
  for (size_t i = 0; i < values.size(); ++i) groups[sessions[i]].push_back(values[i]);
  return groups;
}

bool hasNan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

std::vector<double> ranksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    // [i, end) are values that tie: each gets the mean of the ranks i + 1 .. end.
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t j = i; j < end; ++j) ranks[order[j]] = (double(i + end) + 1) / 2;
    i = end;
  }
  return ranks;
}

double zeroFailuresBound(unsigned n, double confidence) {
  return n == 0 ? 1.0 : 1.0 - std::pow(1.0 - confidence, 1.0 / n);
}

std::pair<double, double> tukeyFences(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const auto quartile = [&](double share) {
    const double at = share * double(sorted.size() - 1);
    const auto below = size_t(at);
    const double weight = at - double(below);
    // Equal neighbours are returned as they are: between two equal infinities the difference would be NaN.
    if (weight == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
    return sorted[below] + weight * (sorted[below + 1] - sorted[below]);
  };
  const double low = quartile(0.25), high = quartile(0.75);
  const double reach = 3 * (high - low);
  return {low - reach, high + reach};
}

std::vector<unsigned> tukeyOutliers(std::span<const double> values) {
  // Quartiles of three values are values themselves, so none could lie outside.
  if (values.size() < 4 || hasNan(values)) return {};
  const auto [low, high] = tukeyFences(values);
  std::vector<unsigned> outliers;
  for (unsigned i = 0; i < values.size(); ++i)
    if (values[i] < low || values[i] > high) outliers.push_back(i);
  return outliers;
}

}  // namespace expc::stats
