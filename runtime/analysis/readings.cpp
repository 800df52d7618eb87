#include "runtime/analysis/readings.h"

#include <cmath>
#include <limits>

namespace expc::analysis {
namespace {

Reading readMeasured(const Index& index, const std::string& metric, const PlaceOutcomes& place, size_t at) {
  const std::optional<unsigned> column = index.column(metric);
  if (column && !place.series[*column].empty() && place.series[*column][at]) {
    const std::vector<double>& series = *place.series[*column][at];
    if (series.empty()) return {std::nullopt, false, metric + " is an empty series", &series};
    return {series.back(), false, "", &series};
  }
  if (column && !std::isnan(place.values[*column][at])) return {place.values[*column][at], false, ""};
  return {std::nullopt, false, metric + " is missing from the trials"};
}

}  // namespace

std::string missingOnDevice(const Index& index, const PlaceOutcomes& place, const std::string& metric) {
  const plan::Metric* declared = index.plan().findMetric(metric);
  if (!declared || !declared->derived) return index.notOnDevice(place, metric) ? metric : "";
  for (const plan::MetricTerm& part : metricTerms(*declared->derived)) {
    std::string missing = missingOnDevice(index, place, part.metric);
    if (!missing.empty()) return missing;
  }
  return "";
}

Reading readMetric(const Index& index, const std::string& metric, const PlaceOutcomes& place, size_t at) {
  const plan::Metric* declared = index.plan().findMetric(metric);
  if (index.lacksOnDevice())
    if (const std::string missing = missingOnDevice(index, place, metric); !missing.empty())
      return {std::nullopt, false, missing + " is not measured on this device"};
  if (place.outcomes[at].status == store::TrialStatus::Timeout) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (declared && !declared->better)
      return {std::nullopt, false, "it timed out, and whether more of " + metric + " is better is not said"};
    return {declared && declared->better == plan::Direction::Higher ? -kInfinity : kInfinity, true, ""};
  }
  if (!declared || !declared->derived) return readMeasured(index, metric, place, at);
  Reading reading = evaluate(
      *declared->derived, [&](const plan::MetricTerm& part) { return readMetric(index, part.metric, place, at); },
      place.parameters);
  if (!reading.value) reading.why = metric + " cannot be computed: " + reading.why;
  return reading;
}

Reading readMetric(const plan::Plan& plan, const plan::Point* point, const store::Trial& trial,
                   const std::string& metric) {
  const plan::Metric* declared = plan.findMetric(metric);
  if (declared && declared->derived)
    return evaluate(
        *declared->derived, [&](const plan::MetricTerm& part) { return readMetric(plan, point, trial, part.metric); },
        point ? &point->parameters : nullptr);
  if (const auto series = trial.series.find(metric); series != trial.series.end() && !series->second.empty())
    return {.value = series->second.back(), .series = &series->second};
  if (const auto value = trial.metrics.find(metric); value != trial.metrics.end()) return {.value = value->second};
  return {std::nullopt, false, metric + " is missing"};
}

}  // namespace expc::analysis
