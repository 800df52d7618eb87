#include <algorithm>
#include <map>

#include "runtime/analysis/description.h"
#include "runtime/analysis/readings.h"
#include "runtime/stats/design.h"
#include "runtime/stats/estimators.h"

namespace expc::analysis {
namespace {

struct Measured {
  Ranked ranked;
  std::vector<PointValue> values;
};

double medianOf(const std::vector<PointValue>& values) {
  std::vector<double> plain;
  for (const PointValue& value : values) plain.push_back(value.value);
  return *stats::orderStatistics(plain).estimate();
}

bool better(const plan::Metric& metric, double a, double b) {
  return metric.better == plan::Direction::Lower ? a < b : a > b;
}

/// Whether blocks that both have do not tell them apart. Single values do only where the metric is exact.
bool sharesRank(const plan::Metric& metric, const std::vector<PointValue>& a, const std::vector<PointValue>& b) {
  if (!metric.exact && (a.size() < 2 || b.size() < 2)) return true;
  std::map<std::pair<int64_t, int64_t>, double> of_a;
  for (const PointValue& value : a) of_a[{value.block, value.session}] = value.value;
  std::vector<double> differences;
  for (const PointValue& value : b)
    if (const auto found = of_a.find({value.block, value.session}); found != of_a.end())
      differences.push_back(value.value - found->second);
  if (const auto interval = stats::signedRank(differences).interval(kConfidence))
    return interval->low <= 0 && interval->high >= 0;
  const auto less = [](const PointValue& x, const PointValue& y) { return x.value < y.value; };
  const auto [low_a, high_a] = std::minmax_element(a.begin(), a.end(), less);
  const auto [low_b, high_b] = std::minmax_element(b.begin(), b.end(), less);
  return low_a->value <= high_b->value && low_b->value <= high_a->value;
}

std::map<std::string, double> mediansOf(const Index& index, const plan::Metric& metric) {
  std::map<std::string, double> medians;
  for (const plan::Point& point : index.plan().points)
    if (const std::vector<PointValue> values = valuesAt(index, metric, point); !values.empty())
      medians[point.id] = medianOf(values);
  return medians;
}

}  // namespace

std::vector<Ranked> rank(const Index& index, const plan::Metric& metric) {
  std::vector<Measured> all;
  for (const plan::Point& point : index.plan().points) {
    std::vector<PointValue> values = valuesAt(index, metric, point);
    if (values.empty()) continue;
    const Ranked ranked{point.id, 1, medianOf(values), static_cast<unsigned>(values.size())};
    all.push_back({ranked, std::move(values)});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Measured& a, const Measured& b) {
    return better(metric, a.ranked.median, b.ranked.median);
  });
  std::vector<Ranked> ranks;
  size_t first = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > first && !sharesRank(metric, all[first].values, all[i].values)) first = i;
    all[i].ranked.rank = static_cast<unsigned>(first + 1);
    ranks.push_back(all[i].ranked);
  }
  return ranks;
}

Front paretoFront(const Index& index, const plan::Metric& first, const plan::Metric& second) {
  Front front{first.name, second.name, {}, 0};
  const std::map<std::string, double> of_first = mediansOf(index, first), of_second = mediansOf(index, second);
  std::vector<FrontPoint> all;
  for (const plan::Point& point : index.plan().points)
    if (of_first.count(point.id) && of_second.count(point.id))
      all.push_back({point.id, of_first.at(point.id), of_second.at(point.id)});
  std::stable_sort(all.begin(), all.end(), [&](const FrontPoint& a, const FrontPoint& b) {
    return better(first, a.first, b.first) || (a.first == b.first && better(second, a.second, b.second));
  });
  // Best in the first metric come first, so one is beaten by what came before unless it is better in the second.
  for (const FrontPoint& point : all) {
    const FrontPoint* last = front.points.empty() ? nullptr : &front.points.back();
    if (!last || better(second, point.second, last->second) ||
        (point.first == last->first && point.second == last->second))
      front.points.push_back(point);
    else
      ++front.beaten;
  }
  return front;
}

}  // namespace expc::analysis
