#include "runtime/analysis/controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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
  const auto metric = [&](const plan::Place& read) { return plan::termOf(plan::MetricTerm{subject.metric, read}); };
  plan::Cell cell;
  cell.kind = kind;
  cell.points = {place, control.point};
  cell.estimator = subject.ratio ? plan::Estimator::PairedRatio : plan::Estimator::PairedDifference;
  using Op = plan::OperationTerm::Op;
  cell.term = plan::termOf(
      plan::OperationTerm{subject.ratio ? Op::Ratio : Op::Difference, {metric(place), metric(control.point)}});
  return cell;
}

/// The interval of a control, held against what some claim leaves room for.
struct Held {
  bool leaves = false;
  std::string text;  // "… agrees with itself to 1.0 % (…), where 5.0 % is asked, half of the 10.0 % that …"
  std::optional<NextStep> next = std::nullopt;
};

/// A size as people read it: of ratios as a share.
std::string sizeText(const ControlResult& control, const plan::Metric& metric, double size) {
  return control.ratio ? formatQuantity(size, "", "share") : formatQuantity(size, metric.unit, metric.dimension);
}

/// How a control lies to what it repeats.
enum class Agreement { Close, MayDiffer, Differs };

/// "step_time of precision=fp64 (control twice), run twice in each block, agrees with itself only to 6.0 % (1.00x
/// [0.94x, 1.06x])"; it has an interval. `bounds`: what its ends must not be confused with.
std::string agreementText(const Evidence& evidence, const ControlResult& control, const plan::Metric& metric,
                          Agreement agreement, const std::vector<double>& bounds = {}) {
  const stats::Interval& interval = *control.estimate.interval;
  const std::optional<double>& estimate = control.estimate.estimate;
  const std::string unit = control.ratio ? "x" : metric.unit, dimension = control.ratio ? "" : metric.dimension;
  const double neutral = control.ratio ? 1 : 0;
  const bool differs = agreement == Agreement::Differs;
  const double size = differs ? std::abs(*estimate - neutral)
                              : std::max(std::abs(interval.low - neutral), std::abs(interval.high - neutral));
  const bool alone = control.name == plan::kAlone;
  return fmt::format("{} of {}, {}, {} {} {}{} ({})", control.metric,
                     placeLabel(evidence.index, {control.point, control.name}),
                     alone ? "which ran alone and not beside others" : "run twice in each block",
                     differs ? "differs from" : "agrees with", alone ? "those" : "itself",
                     differs                             ? "by "
                     : agreement == Agreement::MayDiffer ? "only to "
                                                         : "to ",
                     sizeText(control, metric, size),
                     estimate ? formatEstimate(*estimate, interval, unit, dimension, bounds)
                              : formatInterval(interval, unit, dimension, bounds));
}

/// `claimed`: whose gap it is.
Held hold(const Evidence& evidence, const ControlResult& control, double gap, const char* claimed) {
  const plan::Metric& metric = *evidence.index.plan().findMetric(control.metric);
  const double neutral = control.ratio ? 1 : 0, margin = gap / 2;
  const plan::Bound band{plan::Relation::Within, neutral - margin, neutral + margin, ""};
  const std::optional<double>& estimate = control.estimate.estimate;
  const bool outside = estimate && !satisfies(band, *estimate, *estimate);
  Held held;
  held.leaves = !satisfies(band, control.estimate.interval->low, control.estimate.interval->high);
  const Agreement agreement = !held.leaves ? Agreement::Close : outside ? Agreement::Differs : Agreement::MayDiffer;
  held.text = fmt::format("{}, where {} is asked, half of the {} that {}",
                          agreementText(evidence, control, metric, agreement, ends(band)),
                          sizeText(control, metric, margin), sizeText(control, metric, gap), claimed);
  if (!held.leaves) return held;
  if (outside) held.text += "; more blocks would not change that";
  const plan::Cell cell = cellOf({control.name, control.point}, {control.metric, control.ratio}, metric.kind);
  held.next = nextStepForTrust(evidence, cell, band, control.estimate);
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
  } else if (!gap) {
    result.why =
        agreementText(evidence, result, metric, Agreement::Close) + "; no criterion claims a gap to hold it against";
  } else {
    const Held held = hold(evidence, result, *gap, "are claimed at least");
    result.untrusted = held.leaves;
    result.why = held.text;
  }
  return result;
}

/// Marks a decided criterion as untrusted where a control says so; of an undecided one there is nothing to trust. What
/// that is held against is the criterion's own gap, so that one tight claim does not spoil the others; the smallest
/// that is claimed of the metric where it claims none. What more blocks would do for it is said of both.
void distrust(const Evidence& evidence, const plan::Criterion& criterion, const std::vector<ControlResult>& controls,
              CriterionResult& result) {
  const std::set<Subject> subjects = subjectsOf(criterion);
  const std::optional<double> gap = gapOf(criterion);
  for (const ControlResult& control : controls) {
    if (!control.estimate.interval || !subjects.count({control.metric, control.ratio})) continue;
    if (!gap && !control.margin) continue;
    const Held held =
        hold(evidence, control, gap ? *gap : 2 * *control.margin, gap ? "this claims" : "are claimed at least");
    if (!held.leaves) continue;
    if (result.verdict == Verdict::Pass || result.verdict == Verdict::Fail) {
      result.untrusted = held.text;
      result.next = held.next;
    } else if (result.next && result.next->reach != NextStep::Reach::OutOfReach && held.next &&
               held.next->blocks > result.next->blocks) {
      const NextStep::Reach reach = result.next->reach;
      result.next = held.next;
      result.next->reach = reach;
    }
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
