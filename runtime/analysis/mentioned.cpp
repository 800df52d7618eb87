#include "runtime/analysis/mentioned.h"

#include <cmath>
#include <set>

#include "runtime/analysis/readings.h"

namespace expc::analysis {

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

std::vector<PointValue> valuesAt(const Index& index, const plan::Metric& metric, const plan::Point& point) {
  const PlaceOutcomes& place = index.of(metric.kind, point.id);
  std::vector<PointValue> values;
  for (size_t i = 0; i < place.outcomes.size(); ++i) {
    const Outcome& outcome = place.outcomes[i];
    if (!outcome.valid()) continue;
    const Reading reading = readMetric(index, metric.name, place, i);
    if (reading.value && std::isfinite(*reading.value))
      values.push_back({outcome.block, outcome.session, outcome.trial, *reading.value});
  }
  return values;
}

}  // namespace expc::analysis
