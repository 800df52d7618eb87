#include "runtime/analysis/controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/analysis/next_step.h"
#include "runtime/plan/evaluate.h"

namespace expc::analysis {
namespace {

/// A metric, compared by ratio or by difference.
struct Subject {
  std::string metric;
  bool ratio = true;
  bool operator<(const Subject& other) const { return std::tie(metric, ratio) < std::tie(other.metric, other.ratio); }
};

/// Whether intervals of pairs decide the criterion.
bool compares(const plan::Criterion& criterion) {
  return criterion.confidence && !criterion.not_asked && !criterion.infeasible &&
         std::any_of(criterion.cells.begin(), criterion.cells.end(), [](const plan::Cell& cell) {
           return cell.estimator != plan::Estimator::Median && cell.points.size() > 1;
         });
}

std::set<Subject> subjectsOf(const plan::Criterion& criterion) {
  std::set<Subject> subjects;
  for (const plan::Cell& cell : criterion.cells) {
    if (cell.estimator == plan::Estimator::Median) continue;
    for (const plan::MetricTerm& term : metricTerms(*cell.term))
      subjects.insert({term.metric, cell.estimator == plan::Estimator::PairedRatio});
  }
  return subjects;
}

/// The smallest distance from "no difference" that the criterion's bounds claim, or half the width of its narrowest
/// band; nothing for bounds at "no difference".
std::optional<double> gapOf(const plan::Criterion& criterion) {
  std::optional<double> smallest;
  for (const plan::Cell& cell : criterion.cells) {
    const double neutral = cell.estimator == plan::Estimator::PairedRatio ? 1 : 0;
    for (const double end : ends(boundOf(criterion, cell))) {
      const double gap = std::abs(end - neutral);
      if (gap > 1e-12 && (!smallest || gap < *smallest)) smallest = gap;
    }
    // A band claims to tell its middle from its ends, wherever it lies: agreement with a published ratio.
    const plan::Bound& bound = boundOf(criterion, cell);
    const double reach = (bound.high - bound.low) / 2;
    if (bound.relation == plan::Relation::Within && reach > 1e-12 && (!smallest || reach < *smallest)) smallest = reach;
  }
  return smallest;
}

std::map<Subject, std::optional<double>> gapsOf(const plan::Plan& plan) {
  std::map<Subject, std::optional<double>> gaps;
  for (const plan::Criterion& criterion : plan.criteria) {
    if (!compares(criterion)) continue;
    const std::optional<double> gap = gapOf(criterion);
    for (const Subject& subject : subjectsOf(criterion)) {
      std::optional<double>& smallest = gaps[subject];
      if (gap && (!smallest || *gap < *smallest)) smallest = gap;
    }
  }
  return gaps;
}

/// Control over point, of one metric.
plan::Cell cellOf(const plan::Control& control, const Subject& subject, plan::TrialKind kind) {
  const plan::Place place(control.point, control.name);
  const auto metric = [&](const plan::Place& read) {
    return std::make_shared<const plan::Term>(plan::Term{plan::MetricTerm{subject.metric, read}});
  };
  plan::Cell cell;
  cell.kind = kind;
  cell.points = {place, control.point};
  cell.estimator = subject.ratio ? plan::Estimator::PairedRatio : plan::Estimator::PairedDifference;
  if (subject.ratio)
    cell.term = std::make_shared<const plan::Term>(
        plan::Term{plan::OperationTerm{plan::OperationTerm::Op::Ratio, {metric(place), metric(control.point)}}});
  else
    cell.term = std::make_shared<const plan::Term>(
        plan::Term{plan::OperationTerm{plan::OperationTerm::Op::Difference, {metric(place), metric(control.point)}}});
  return cell;
}

/// The interval of a control, held against what some claim leaves room for.
struct Held {
  bool leaves = false;
  std::string text;  // "…, within [0.9x, 1.1x], ROOM"
  std::optional<NextStep> next = std::nullopt;
};

/// `bounds`: what its ends must not be confused with.
std::string intervalText(const ControlResult& control, const plan::Metric& metric, const stats::Interval& interval,
                         const std::vector<double>& bounds) {
  return formatInterval(interval, control.ratio ? "x" : metric.unit, control.ratio ? "" : metric.dimension, bounds);
}

/// "step_time of precision=fp64 (control twice), the same point run again in each block, differs from it by
/// [1.1x, 1.2x]"; it has an interval.
std::string differenceText(const Evidence& evidence, const ControlResult& control, const plan::Metric& metric,
                           const std::vector<double>& bounds = {}) {
  const char* what = control.name == plan::kAlone ? "which ran alone and not beside others, differs by"
                                                  : "the same point run again in each block, differs by";
  return fmt::format("{} of {}, {} {}", control.metric, placeLabel(evidence.index, {control.point, control.name}), what,
                     intervalText(control, metric, *control.estimate.interval, bounds));
}

/// `room`: what the margin is half of.
Held hold(const Evidence& evidence, const ControlResult& control, double margin, const std::string& room) {
  const plan::Metric& metric = *evidence.index.plan().findMetric(control.metric);
  const double neutral = control.ratio ? 1 : 0;
  const plan::Bound band{plan::Relation::Within, neutral - margin, neutral + margin, ""};
  const stats::Interval& interval = *control.estimate.interval;
  const std::string allowed = intervalText(control, metric, {band.low, band.high, kConfidence}, {neutral});
  Held held;
  held.leaves = !satisfies(band, interval.low, interval.high);
  held.text = fmt::format("{}, {} {}, half of {}", differenceText(evidence, control, metric, ends(band)),
                          held.leaves ? "and should lie within" : "within", allowed, room);
  if (!held.leaves) return held;
  const plan::Cell cell = cellOf({control.name, control.point}, {control.metric, control.ratio}, metric.kind);
  held.next = nextStepForTrust(evidence, cell, band, control.estimate);
  if (control.estimate.estimate && !satisfies(band, *control.estimate.estimate, *control.estimate.estimate))
    held.text += "; its estimate lies outside too, so that more blocks would not bring it in";
  return held;
}

ControlResult judgeControl(const Evidence& evidence, const plan::Control& control, const Subject& subject,
                           const plan::Metric& metric, std::optional<double> gap) {
  ControlResult result;
  result.name = control.name;
  result.point = control.point;
  result.metric = subject.metric;
  result.ratio = subject.ratio;
  if (gap) result.margin = *gap / 2;
  result.estimate = measure(evidence, cellOf(control, subject, metric.kind), kConfidence).estimate;
  if (!result.estimate.interval) {
    result.why = fmt::format("{} of {} is not judged: {}", subject.metric,
                             placeLabel(evidence.index, {control.point, control.name}),
                             result.estimate.why.empty() ? "not run" : result.estimate.why);
  } else if (!result.margin) {
    result.why = differenceText(evidence, result, metric) + "; no criterion claims a gap to hold it against";
  } else {
    const Held held = hold(evidence, result, *result.margin, "the smallest gap that is claimed");
    result.untrusted = held.leaves;
    result.why = held.text;
  }
  return result;
}

/// Marks the criterion as untrusted where a control says so. What that is held against is the criterion's own gap, so
/// that one tight claim does not spoil the others; the smallest that is claimed of the metric where it claims none.
void distrust(const Evidence& evidence, const plan::Criterion& criterion, const std::vector<ControlResult>& controls,
              CriterionResult& result) {
  const std::set<Subject> subjects = subjectsOf(criterion);
  const std::optional<double> gap = gapOf(criterion);
  for (const ControlResult& control : controls) {
    if (!control.estimate.interval || !subjects.count({control.metric, control.ratio})) continue;
    const std::optional<double> margin = gap ? std::optional(*gap / 2) : control.margin;
    if (!margin) continue;
    Held held = hold(evidence, control, *margin,
                     gap ? "the gap that this claims from no difference" : "the smallest gap that is claimed");
    if (!held.leaves) continue;
    result.untrusted = held.text;
    // What would decide it comes first: it may take more blocks, and says what becomes of the control.
    if (!result.next && (result.verdict == Verdict::Pass || result.verdict == Verdict::Fail)) result.next = held.next;
    return;
  }
}

}  // namespace

void judgeControls(const Evidence& evidence, Judgement& judgement) {
  const plan::Plan& plan = evidence.index.plan();
  std::map<Subject, std::optional<double>> gaps = gapsOf(plan);
  if (gaps.empty()) {
    for (const plan::Metric& metric : plan.metrics)
      if (hasControls(plan, metric.kind) && !metric.exact) gaps[{metric.name, true}] = std::nullopt;
  }
  for (const plan::Control& control : plan.controls) {
    for (const auto& [subject, gap] : gaps) {
      const plan::Metric* metric = plan.findMetric(subject.metric);
      if (!metric || !hasControls(plan, metric->kind)) continue;
      judgement.controls.push_back(judgeControl(evidence, control, subject, *metric, gap));
    }
  }
  for (size_t i = 0; i < judgement.criteria.size() && i < plan.criteria.size(); ++i)
    if (compares(plan.criteria[i])) distrust(evidence, plan.criteria[i], judgement.controls, judgement.criteria[i]);
}

}  // namespace expc::analysis
