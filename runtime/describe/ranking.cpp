#include "runtime/describe/ranking.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "runtime/describe/values.h"
#include "runtime/judge/readings.h"
#include "runtime/judge/results.h"
#include "runtime/stats/design.h"
#include "runtime/stats/estimators.h"

namespace expc::describe {
namespace {

struct Measured {
  Ranked ranked;
  std::vector<judge::PointValue> values;
};

size_t pairsOf(size_t points) { return points * (points - 1) / 2; }

/// Whether the blocks that both points have do not tell them apart at `confidence`. An exact metric compares its values
/// directly.
bool sharesRank(const Metric& metric, const std::vector<judge::PointValue>& a, const std::vector<judge::PointValue>& b,
                double confidence) {
  std::map<std::pair<int64_t, int64_t>, double> of_a;
  for (const judge::PointValue& value : a) of_a[{value.block, value.session}] = value.value;
  std::vector<double> differences;
  for (const judge::PointValue& value : b)
    if (const auto found = of_a.find({value.block, value.session}); found != of_a.end())
      differences.push_back(value.value - found->second);
  if (const auto interval = stats::signedRank(differences).interval(confidence))
    return interval->low <= 0 && interval->high >= 0;
  if (!metric.exact) return true;
  const auto [low_a, high_a] = std::ranges::minmax_element(a, {}, &judge::PointValue::value);
  const auto [low_b, high_b] = std::ranges::minmax_element(b, {}, &judge::PointValue::value);
  return low_a->value <= high_b->value && low_b->value <= high_a->value;
}

}  // namespace

std::vector<Ranked> rank(const judge::Index& index, const Metric& metric) {
  std::vector<Measured> all;
  for (const Point& point : index.plan().points) {
    std::vector<judge::PointValue> values = judge::valuesAt(index, metric, point);
    if (values.empty()) continue;
    const Ranked ranked{point.id, std::nullopt, *stats::medianOf(plain(values)), unsigned(values.size())};
    all.push_back({ranked, std::move(values)});
  }
  std::ranges::stable_sort(
      all, [&](const Measured& a, const Measured& b) { return better(metric, a.ranked.median, b.ranked.median); });
  std::vector<Ranked> ranks;
  const unsigned fewest = rankBlocks(all.size());
  const bool told =
      metric.exact || std::ranges::any_of(all, [&](const Measured& one) { return one.ranked.n >= fewest; });
  const double confidence = 1 - (1 - judge::kConfidence) / double(std::max<size_t>(1, pairsOf(all.size())));
  size_t first = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > first && !sharesRank(metric, all[first].values, all[i].values, confidence)) first = i;
    if (told) all[i].ranked.rank = unsigned(first + 1);
    ranks.push_back(all[i].ranked);
  }
  return ranks;
}

unsigned rankBlocks(size_t points) {
  return stats::minimumPairs(judge::kConfidence, unsigned(std::max<size_t>(1, pairsOf(points))));
}

}  // namespace expc::describe
