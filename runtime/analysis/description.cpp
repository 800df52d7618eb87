#include "runtime/analysis/description.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/estimators.h"

namespace expc::analysis {
namespace {

using Series = std::vector<const std::vector<double>*>;

/// The series of every valid run.
Series seriesOf(const Index& index, const plan::Metric& metric, const plan::Point& point) {
  const PlaceOutcomes& place = index.of(metric.kind, point.id);
  Series all;
  for (size_t i = 0; i < place.outcomes.size(); ++i) {
    if (!place.outcomes[i].valid()) continue;
    const Reading reading = readMetric(index, metric.name, place, i);
    if (reading.series && !reading.series->empty()) all.push_back(reading.series);
  }
  return all;
}

std::optional<CurvePlace> placeOf(const Series& all, size_t at, bool stopped) {
  std::vector<double> values;
  for (const std::vector<double>* series : all)
    if (at < series->size() && std::isfinite((*series)[at])) values.push_back((*series)[at]);
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax_element(values);
  stats::NestedIntervals intervals = stats::orderStatistics(values);
  if (stopped) intervals = intervals.afterWidthStop();
  return CurvePlace{
      static_cast<unsigned>(at + 1),  static_cast<unsigned>(values.size()), *intervals.estimate(), *low, *high,
      intervals.interval(kConfidence)};
}

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
  const auto [low_a, high_a] = std::ranges::minmax_element(a, less);
  const auto [low_b, high_b] = std::ranges::minmax_element(b, less);
  return low_a->value <= high_b->value && low_b->value <= high_a->value;
}

std::map<std::string, double> mediansOf(const Index& index, const plan::Metric& metric) {
  std::map<std::string, double> medians;
  for (const plan::Point& point : index.plan().points)
    if (const std::vector<PointValue> values = valuesAt(index, metric, point); !values.empty())
      medians[point.id] = medianOf(values);
  return medians;
}

/// What the study's plots draw that is neither an estimate nor a comparison.
void describePlots(const Index& index, Description& description) {
  const plan::Plan& plan = index.plan();
  std::set<std::string> series;
  for (const plan::Plot& plot : plan.plots) {
    const plan::Metric *subject = plan.findMetric(plot.subject), *over = plan.findMetric(plot.over);
    if (plot.kind(plan) == plan::PlotKind::Metrics && over->better && subject->better)
      description.plotted.push_back(paretoFront(index, *over, *subject));
    if (plot.kind(plan) != plan::PlotKind::Series || !series.insert(plot.subject).second) continue;
    std::vector<Curve> curves = curvesOf(index, *subject);
    description.curves.insert(description.curves.end(), std::make_move_iterator(curves.begin()),
                              std::make_move_iterator(curves.end()));
  }
}

/// Appends what a table asks for, whether or not it would be worth saying by itself.
void describeAsked(const Index& index, Description& description) {
  using Shows = plan::Table::Shows;
  const auto lacks = [](const auto& all, auto is) { return std::ranges::none_of(all, is); };
  for (const plan::Table& table : index.plan().tables) {
    const plan::Metric *metric = index.plan().findMetric(table.subject), *other = index.plan().findMetric(table.other);
    const auto named = [&](const auto& one) { return one.metric == table.subject; };
    if (table.shows == Shows::Effects && metric && lacks(description.effects, named))
      if (auto effects = effectsOn(index, *metric)) description.effects.push_back(std::move(*effects));
    if (table.shows == Shows::Ranking && metric && lacks(description.rankings, named))
      description.rankings.push_back({metric->name, rank(index, *metric)});
    if (table.shows == Shows::Front && metric && other &&
        lacks(description.fronts, [&](const Front& one) { return one.isOf(table); }))
      description.fronts.push_back(paretoFront(index, *metric, *other));
  }
}

}  // namespace

std::shared_ptr<const Description> nothingToSee() {
  static const auto nothing = std::make_shared<const Description>();
  return nothing;
}

std::vector<Curve> curvesOf(const Index& index, const plan::Metric& metric) {
  std::vector<Curve> curves;
  for (const plan::Point& point : index.plan().points) {
    const Series all = seriesOf(index, metric, point);
    std::vector<int64_t> runs;
    for (const Outcome& outcome : index.of(metric.kind, point.id).outcomes) runs.push_back(outcome.run);
    const bool stopped = stoppedByWidth(index, metric.kind, runs);
    size_t length = 0;
    for (const std::vector<double>* series : all) length = std::max(length, series->size());
    Curve curve{point.id, metric.name, {}};
    const size_t places = std::min(length, kMostCurvePlaces);
    for (size_t i = 0; i < places; ++i) {
      const size_t at = places < 2 ? 0 : i * (length - 1) / (places - 1);
      if (auto place = placeOf(all, at, stopped)) curve.places.push_back(*place);
    }
    if (!curve.places.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

std::vector<Ranked> rank(const Index& index, const plan::Metric& metric) {
  std::vector<Measured> all;
  for (const plan::Point& point : index.plan().points) {
    std::vector<PointValue> values = valuesAt(index, metric, point);
    if (values.empty()) continue;
    const Ranked ranked{point.id, 1, medianOf(values), static_cast<unsigned>(values.size())};
    all.push_back({ranked, std::move(values)});
  }
  std::ranges::stable_sort(
      all, [&](const Measured& a, const Measured& b) { return better(metric, a.ranked.median, b.ranked.median); });
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
  std::ranges::stable_sort(all, [&](const FrontPoint& a, const FrontPoint& b) {
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

std::vector<std::string> mentionedMetrics(const plan::Plan& plan) {
  std::set<std::string> mentioned;
  const auto mention = [&](const std::vector<plan::Cell>& cells) {
    for (const plan::Cell& cell : cells)
      for (const plan::MetricTerm& term : metricTerms(*cell.term)) mentioned.insert(term.metric);
  };
  for (const plan::Comparison& comparison : plan.comparisons) mention(comparison.cells);
  for (const plan::Criterion& criterion : plan.criteria) mention(criterion.cells);
  for (const plan::Table& table : plan.tables) {
    mentioned.insert(table.subject);
    mentioned.insert(table.other);
  }
  for (const plan::Plot& plot : plan.plots) mentioned.insert(plot.subject);
  std::vector<std::string> names;
  for (const plan::Metric& metric : plan.metrics)
    if (mentioned.count(metric.name) || mentioned.empty()) names.push_back(metric.name);
  return names;
}

Description describe(const Index& index) {
  Description description;
  describePlots(index, description);
  const plan::Metric* first = nullptr;
  const std::vector<plan::Factor>& factors = index.plan().factors;
  const bool is_grid =
      std::ranges::count_if(factors, [](const plan::Factor& one) { return one.levels.size() > 1; }) > 1;
  for (const std::string& name : mentionedMetrics(index.plan())) {
    const plan::Metric* metric = index.plan().findMetric(name);
    if (!metric || metric->kind == plan::TrialKind::Profile) continue;
    if (is_grid)
      if (auto effects = effectsOn(index, *metric); effects && effects->effects.size() > 1)
        description.effects.push_back(std::move(*effects));
    if (metric->better)
      if (Ranking ranking{name, rank(index, *metric)}; ranking.points.size() > 2 && ranking.points.back().rank > 1)
        description.rankings.push_back(std::move(ranking));
    if (auto drift = driftOf(index, *metric); drift && (drift->first || drift->p <= kTrend))
      description.drifts.push_back(std::move(*drift));
    const std::vector<Outlier> outliers = outliersOf(index, *metric);
    description.outliers.insert(description.outliers.end(), outliers.begin(), outliers.end());
    if (!metric->better) continue;
    if (!first) {
      first = metric;
      continue;
    }
    if (Front front = paretoFront(index, *first, *metric); front.points.size() > 1 && front.beaten > 0)
      description.fronts.push_back(std::move(front));
  }
  describeAsked(index, description);
  return description;
}

}  // namespace expc::analysis
