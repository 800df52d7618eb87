#include "runtime/analysis/readings.h"

#include <limits>

namespace expc::analysis {
namespace {

/// The first metric that `metric` rests on and that the device cannot give; "" if there is none.
std::string missingOnDevice(const plan::Plan& plan, const Outcomes& outcomes, const std::string& metric) {
  const plan::Metric* declared = plan.findMetric(metric);
  if (!declared || !declared->derived) return outcomes.notOnDevice(metric) ? metric : "";
  for (const plan::MetricTerm& part : metricTerms(*declared->derived)) {
    std::string missing = missingOnDevice(plan, outcomes, part.metric);
    if (!missing.empty()) return missing;
  }
  return "";
}

}  // namespace

Reading readMetric(const plan::Plan& plan, const Outcomes& outcomes, const std::string& metric,
                   const Outcome& outcome) {
  const store::Trial& trial = *outcome.trial;
  const plan::Metric* declared = plan.findMetric(metric);
  if (const std::string missing = missingOnDevice(plan, outcomes, metric); !missing.empty()) {
    return {std::nullopt, false, missing + " is not measured on this device"};
  }
  if (trial.status == store::TrialStatus::Timeout) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {declared && declared->better == plan::Direction::Higher ? -kInfinity : kInfinity, true, ""};
  }
  if (declared && declared->derived) {
    Reading reading = evaluate(*declared->derived, [&](const plan::MetricTerm& part) {
      return readMetric(plan, outcomes, part.metric, outcome);
    });
    if (!reading.value) reading.why = metric + " cannot be computed: " + reading.why;
    return reading;
  }
  if (const auto series = trial.series.find(metric); series != trial.series.end()) {
    if (series->second.empty()) return {std::nullopt, false, metric + " is an empty series", &series->second};
    return {series->second.back(), false, "", &series->second};
  }
  const auto found = trial.metrics.find(metric);
  if (found != trial.metrics.end()) return {found->second, false, ""};
  return {std::nullopt, false, metric + " is missing from the trials"};
}

}  // namespace expc::analysis
