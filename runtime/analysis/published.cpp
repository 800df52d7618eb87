#include "runtime/analysis/published.h"

#include "runtime/plan/evaluate.h"

namespace expc::analysis {
namespace {

plan::Reading lookUp(const plan::Plan& plan, const std::string& point, const std::string& metric) {
  for (const plan::Reference& reference : plan.references)
    for (const plan::Reference::Value& value : reference.values)
      if (value.point == point && value.metric == metric) return {value.value, false, ""};
  const plan::Metric* declared = plan.findMetric(metric);
  if (!declared || !declared->derived) return {};
  const plan::Point* own = plan.findPoint(point);
  return plan::evaluate(
      *declared->derived, [&](const plan::MetricTerm& part) { return lookUp(plan, point, part.metric); },
      own ? &own->parameters : nullptr);
}

}  // namespace

std::optional<double> publishedValue(const plan::Plan& plan, const plan::Term& term) {
  if (plan.references.empty() || plan::metricTerms(term).empty()) return std::nullopt;
  return plan::evaluate(term, [&](const plan::MetricTerm& part) { return lookUp(plan, part.place.point, part.metric); })
      .value;
}

std::optional<double> publishedValue(const plan::Plan& plan, const plan::Point& point, const plan::Metric& metric) {
  return plan.references.empty() ? std::nullopt : lookUp(plan, point.id, metric.name).value;
}

}  // namespace expc::analysis
