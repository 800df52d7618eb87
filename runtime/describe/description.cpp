#include "runtime/describe/description.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/judge/judge.h"
#include "runtime/plan/evaluate.h"

namespace expc::describe {
namespace {

/// Collects the points of the study's plots that are neither an estimate nor a comparison.
void describePlots(const judge::Index& index, Description& description) {
  const Plan& plan = index.plan();
  std::set<std::string> series;
  for (const plan::Plot& plot : plan.plots) {
    const Metric *subject = plan.findMetric(plot.subject), *over = plan.findMetric(plot.over);
    if (plot.kind(plan) == plan::PlotKind::Metrics && over->better && subject->better)
      description.plotted.push_back(paretoFront(index, *over, *subject));
    if (plot.kind(plan) != plan::PlotKind::Series || !series.insert(plot.subject).second) continue;
    std::vector<Curve> curves = curvesOf(index, *subject);
    description.curves.insert(description.curves.end(), std::make_move_iterator(curves.begin()),
                              std::make_move_iterator(curves.end()));
  }
}

/// Appends what a table asks for, whether or not it would be worth saying by itself.
void describeAsked(const judge::Index& index, Description& description) {
  using Shows = plan::Table::Shows;
  const auto lacks = [](const auto& all, auto is) { return std::ranges::none_of(all, is); };
  for (const plan::Table& table : index.plan().tables) {
    const Metric *metric = index.plan().findMetric(table.subject), *other = index.plan().findMetric(table.other);
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

std::vector<std::string> mentionedMetrics(const Plan& plan) {
  std::set<std::string> mentioned;
  const auto mention = [&](const std::vector<plan::Cell>& cells) {
    for (const plan::Cell& cell : cells)
      for (const MetricTerm& term : metricTerms(*cell.term)) mentioned.insert(term.metric);
  };
  for (const Comparison& comparison : plan.comparisons) mention(comparison.cells);
  for (const Criterion& criterion : plan.criteria) mention(criterion.cells);
  for (const plan::Table& table : plan.tables) {
    mentioned.insert(table.subject);
    mentioned.insert(table.other);
  }
  for (const plan::Plot& plot : plan.plots) mentioned.insert(plot.subject);
  std::vector<std::string> names;
  for (const Metric& metric : plan.metrics)
    if (mentioned.count(metric.name) || mentioned.empty()) names.push_back(metric.name);
  return names;
}

Description describe(const judge::Index& index) {
  Description description;
  describePlots(index, description);
  const Metric* first = nullptr;
  const std::vector<plan::Factor>& factors = index.plan().factors;
  const bool is_grid =
      std::ranges::count_if(factors, [](const plan::Factor& one) { return one.levels.size() > 1; }) > 1;
  for (const std::string& name : mentionedMetrics(index.plan())) {
    const Metric* metric = index.plan().findMetric(name);
    if (!metric || metric->kind == TrialKind::Profile) continue;
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

Conclusions conclude(const judge::Index& index, const judge::Index* with_earlier) {
  return {judge::judge(index, with_earlier), describe(index)};
}

Conclusions conclude(const Plan& plan, const Results& results) { return conclude(judge::Index(plan, results)); }

}  // namespace expc::describe
