#include "runtime/describe/drift.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/describe/values.h"
#include "runtime/judge/readings.h"
#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::describe {
namespace {

constexpr unsigned kFewest = 4;       // levels that a drift is seen in
constexpr size_t kMostLevels = 1000;  // of which all pairs are looked at: half a million
constexpr double kApart = 3;          // spreads by which a first block is apart from the others

/// The mean logarithm of each block that has every point, less the points' own; empty where a value has none.
std::vector<double> levelsOf(const judge::Index& index, const Metric& metric) {
  std::map<std::pair<int64_t, int64_t>, std::vector<double>> blocks;
  size_t points = 0;
  for (const Point& point : index.plan().points) {
    const std::vector<judge::PointValue> values = judge::valuesAt(index, metric, point);
    if (values.empty()) continue;
    ++points;
    std::vector<double> logs;
    for (const judge::PointValue& value : values) {
      if (value.value <= 0) return {};
      logs.push_back(std::log(value.value));
    }
    const double centre = *stats::medianOf(logs);
    for (size_t i = 0; i < values.size(); ++i) blocks[{values[i].block, values[i].session}].push_back(logs[i] - centre);
  }
  std::vector<double> levels;
  for (const auto& [block, own] : blocks)
    if (own.size() == points) levels.push_back(stats::meanOf(own));
  return levels;
}

/// The means of so many levels each that no more than kMostLevels are left; what is over at the end is left out.
std::vector<double> groupedBy(size_t size, const std::vector<double>& levels) {
  std::vector<double> means;
  for (size_t at = 0; at + size <= levels.size(); at += size)
    means.push_back(stats::meanOf(std::span(levels).subspan(at, size)));
  return means;
}

/// The two-sided p-value of Kendall's S, with ties and continuity correction.
double trendP(const std::vector<double>& levels) {
  double s = 0;
  std::map<double, double> ties;
  for (size_t i = 0; i < levels.size(); ++i) {
    ++ties[levels[i]];
    for (size_t j = i + 1; j < levels.size(); ++j) s += (levels[j] > levels[i]) - (levels[j] < levels[i]);
  }
  const auto term = [](double n) { return n * (n - 1) * (2 * n + 5); };
  double variance = term(double(levels.size()));
  for (const auto& [level, times] : ties) variance -= term(times);
  variance /= 18;
  if (variance <= 0 || s == 0) return 1;
  return std::min(1.0, 2 * stats::normalCdf(-(std::abs(s) - 1) / std::sqrt(variance)));
}

double slopeOf(const std::vector<double>& levels) {
  std::vector<double> slopes;
  for (size_t i = 0; i < levels.size(); ++i)
    for (size_t j = i + 1; j < levels.size(); ++j) slopes.push_back((levels[j] - levels[i]) / double(j - i));
  return *stats::medianOf(slopes);
}

/// The first level over the others, if it is far from all of them.
std::optional<double> warmUp(const std::vector<double>& levels) {
  const std::vector<double> others(levels.begin() + 1, levels.end());
  const double centre = *stats::medianOf(others);
  const auto [low, high] = std::ranges::minmax_element(others);
  std::vector<double> distances;
  for (const double level : others) distances.push_back(std::abs(level - centre));
  const double spread = 1.4826 * *stats::medianOf(distances), distance = levels.front() - centre;
  const bool outside = levels.front() > *high || levels.front() < *low;
  return outside && std::abs(distance) > kApart * spread && spread > 0 ? std::optional(std::exp(distance))
                                                                       : std::nullopt;
}

}  // namespace

std::optional<Drift> driftOf(const judge::Index& index, const Metric& metric) {
  const std::vector<double> levels = levelsOf(index, metric);
  if (levels.size() < kFewest) return std::nullopt;
  Drift drift;
  drift.metric = metric.name;
  drift.blocks = levels.size();
  drift.first = warmUp(levels);
  // A warm-up is no trend.
  const std::vector<double> from(levels.begin() + (drift.first ? 1 : 0), levels.end());
  const size_t size = (from.size() + kMostLevels - 1) / kMostLevels;
  const std::vector<double> means = groupedBy(size, from);
  drift.last = std::exp(slopeOf(means) * double(from.size() - 1) / size);
  drift.p = trendP(means);
  return drift;
}

}  // namespace expc::describe
