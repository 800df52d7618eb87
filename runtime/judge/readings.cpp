#include "runtime/judge/readings.h"

#include <llvm/ADT/STLExtras.h>

#include <cmath>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/judge/rows.h"
#include "runtime/plan/command.h"
#include "runtime/plan/sketch.h"

namespace expc::judge {
namespace {

using plan::because;
using plan::Reason;

/// Worse than every value of the metric; without a direction neither end is the worse one, so that there is no value.
Reading worstOf(const Metric* declared, const std::string& metric, plan::Worst why) {
  if (declared && !declared->better) return {std::nullopt, why, because({.code = Reason::NoDirection, .name = metric})};
  return {declared && declared->better == plan::Direction::Higher ? -INFINITY : INFINITY, why};
}

/// The reading of one measured value: a number that is not finite diverged, whichever way it is infinite. A
/// distribution stands for its median.
Reading readingOf(const Metric* declared, const std::string& metric, double value,
                  const std::vector<double>* series = nullptr) {
  const bool sketch = series && declared && declared->distribution;
  if (sketch) value = *plan::reducedSketch(*series, plan::Reduction::Take::Median);
  Reading reading{value};
  if (!std::isfinite(value)) reading = worstOf(declared, metric, {.diverged = true});
  reading.series = series;
  reading.sketch = sketch;
  return reading;
}

/// The reading of a derived metric. If a part of it diverged, it is worst in its own direction.
Reading derivedReading(const Metric& declared, Reading reading) {
  return reading.worst.diverged ? worstOf(&declared, declared.name, reading.worst) : reading;
}

Reading readMeasured(const Index& index, const Metric* declared, const std::string& metric, const PlaceOutcomes& place,
                     size_t at) {
  const std::optional<unsigned> column = index.column(metric);
  if (column && !place.series[*column].empty() && place.series[*column][at]) {
    const std::vector<double>& series = *place.series[*column][at];
    if (!series.empty()) return readingOf(declared, metric, series.back(), &series);
    return {std::nullopt, {}, because({.code = Reason::EmptySeries, .name = metric}), &series};
  }
  if (column && !std::isnan(place.values[*column][at])) return readingOf(declared, metric, place.values[*column][at]);
  return {std::nullopt, {}, because({.code = Reason::NotInTrials, .name = metric})};
}

/// The value that the references give for a metric of a point.
Reading lookUp(const Plan& plan, const std::string& point, const std::string& metric) {
  for (const plan::Reference& reference : plan.references)
    for (const plan::Reference::Value& value : reference.values)
      if (value.point == point && value.metric == metric) return {value.value};
  const Metric* declared = plan.findMetric(metric);
  if (!declared || !declared->derived) return {};
  const Point* own = plan.findPoint(point);
  return plan::evaluate(
      *declared->derived, [&](const MetricTerm& part) { return lookUp(plan, point, part.metric); },
      own ? &own->parameters : nullptr);
}

}  // namespace

std::string missingOnDevice(const Index& index, const PlaceOutcomes& place, const std::string& metric) {
  const Metric* declared = index.plan().findMetric(metric);
  if (!declared || !declared->derived) return index.notOnDevice(place, metric) ? metric : "";
  for (const MetricTerm& part : metricTerms(*declared->derived)) {
    std::string missing = missingOnDevice(index, place, part.metric);
    if (!missing.empty()) return missing;
  }
  return "";
}

Reading readMetric(const Index& index, const std::string& metric, const PlaceOutcomes& place, size_t at) {
  const Metric* declared = index.plan().findMetric(metric);
  if (index.lacksOnDevice())
    if (const std::string missing = missingOnDevice(index, place, metric); !missing.empty())
      return {std::nullopt,
              {},
              because({.code = index.plan().readsInOutput(missing) ? Reason::NotInOutput : Reason::NotOnDevice,
                       .name = missing})};
  if (place.outcomes[at].status == TrialStatus::Timeout) return worstOf(declared, metric, {.timed_out = true});
  if (!declared || !declared->derived) return readMeasured(index, declared, metric, place, at);
  Reading reading =
      derivedReading(*declared, evaluate(
                                    *declared->derived,
                                    [&](const MetricTerm& part) { return readMetric(index, part.metric, place, at); },
                                    place.parameters));
  if (!reading.value)
    reading.why = because({.code = Reason::NotComputed, .name = metric, .because = std::move(reading.why)});
  return reading;
}

Reading readMetric(const Plan& plan, const Point* point, const Trial& trial, const std::string& metric) {
  const Metric* declared = plan.findMetric(metric);
  if (declared && declared->derived)
    return derivedReading(
        *declared,
        evaluate(
            *declared->derived, [&](const MetricTerm& part) { return readMetric(plan, point, trial, part.metric); },
            point ? &point->parameters : nullptr));
  if (const auto* series = entryOf(trial.series, metric); series && !series->empty())
    return readingOf(declared, metric, series->back(), series);
  if (const auto* value = entryOf(trial.metrics, metric); value && !isUncounted(plan, metric, *value))
    return readingOf(declared, metric, *value);
  return {std::nullopt, {}, because({.code = Reason::NotInTrials, .name = metric})};
}

void forEachPoint(const Plan& plan, const Trial& trial, function_ref<void(const Point*, const Trial&)> visit) {
  const Plan::Process* process = plan.findProcess(trial.place().point);
  if (!process) return visit(plan.findPoint(trial.place().point), trial);
  for (const unsigned row : process->rows) {
    const Point& point = plan.points[row];
    Trial one = trial;
    one.rows.clear();
    if (row != process->rows.front()) static_cast<store::Values&>(one) = {};
    const std::string key = plan::rowKey(*plan.workloads[point.workload].command, point.parameters);
    if (const store::Values* own = entryOf(trial.rows, key)) {
      one.metrics.insert(own->metrics.begin(), own->metrics.end());
      one.series.insert(own->series.begin(), own->series.end());
      llvm::append_range(one.not_on_device, own->not_on_device);
    }
    visit(&point, one);
  }
}

std::vector<PointValue> valuesAt(const Index& index, const Metric& metric, const Point& point) {
  const PlaceOutcomes& place = index.of(metric.kind, point.id);
  std::vector<PointValue> values;
  if (!index.plan().tells(metric, point)) return values;
  for (size_t i = 0; i < place.outcomes.size(); ++i) {
    const Outcome& outcome = place.outcomes[i];
    if (!outcome.valid()) continue;
    const Reading reading = readMetric(index, metric.name, place, i);
    if (reading.value && std::isfinite(*reading.value))
      values.push_back({outcome.block, outcome.session, outcome.trial, *reading.value});
  }
  return values;
}

std::optional<double> publishedValue(const Plan& plan, const plan::Term& term) {
  if (plan.references.empty() || plan::metricTerms(term).empty()) return std::nullopt;
  return plan::evaluate(term, [&](const MetricTerm& part) { return lookUp(plan, part.place.point, part.metric); })
      .value;
}

std::optional<double> publishedValue(const Plan& plan, const Point& point, const Metric& metric) {
  return plan.references.empty() ? std::nullopt : lookUp(plan, point.id, metric.name).value;
}

}  // namespace expc::judge
