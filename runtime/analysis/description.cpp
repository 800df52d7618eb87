#include "runtime/analysis/description.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/estimators.h"

namespace expc::analysis {

std::shared_ptr<const Description> nothingToSee() {
  static const auto nothing = std::make_shared<const Description>();
  return nothing;
}

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

std::optional<CurvePlace> placeOf(const Series& all, size_t at, bool adapts) {
  std::vector<double> values;
  for (const std::vector<double>* series : all)
    if (at < series->size() && std::isfinite((*series)[at])) values.push_back((*series)[at]);
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  stats::NestedIntervals intervals = stats::orderStatistics(values);
  if (adapts) intervals = intervals.afterWidthStop();
  return CurvePlace{
      static_cast<unsigned>(at + 1),  static_cast<unsigned>(values.size()), *intervals.estimate(), *low, *high,
      intervals.interval(kConfidence)};
}

}  // namespace

std::vector<Curve> curvesOf(const Index& index, const plan::Metric& metric) {
  std::vector<Curve> curves;
  const bool adapts = repetitionsAdapt(index.plan(), metric.kind);
  for (const plan::Point& point : index.plan().points) {
    const Series all = seriesOf(index, metric, point);
    size_t length = 0;
    for (const std::vector<double>* series : all) length = std::max(length, series->size());
    Curve curve{point.id, metric.name, {}};
    const size_t places = std::min(length, kMostCurvePlaces);
    for (size_t i = 0; i < places; ++i) {
      const size_t at = places < 2 ? 0 : i * (length - 1) / (places - 1);
      if (auto place = placeOf(all, at, adapts)) curve.places.push_back(*place);
    }
    if (!curve.places.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

namespace {

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
  const auto lacks = [](const auto& all, auto is) { return std::none_of(all.begin(), all.end(), is); };
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
      std::count_if(factors.begin(), factors.end(), [](const plan::Factor& one) { return one.levels.size() > 1; }) > 1;
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
