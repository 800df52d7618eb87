// Compares controls with their points, and marks the criteria that a difference makes untrusted.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "runtime/judge/criteria.h"
#include "runtime/plan/evaluate.h"

namespace expc::judge {
namespace {

/// A metric, compared by ratio or by difference.
struct Subject {
  std::string metric;
  bool ratio = true;
  bool operator<(const Subject& other) const { return std::tie(metric, ratio) < std::tie(other.metric, other.ratio); }
};

/// Whether intervals of pairs decide the criterion.
bool compares(const Criterion& criterion) {
  return !criterion.not_asked && std::ranges::any_of(criterion.cells, [&](const plan::Cell& cell) {
    return isEstimated(criterion, cell) && cell.estimator != Estimator::Median && cell.points.size() > 1;
  });
}

std::set<Subject> subjectsOf(const Criterion& criterion) {
  std::set<Subject> subjects;
  for (const plan::Cell& cell : criterion.cells) {
    if (cell.estimator == Estimator::Median) continue;
    for (const MetricTerm& term : metricTerms(*cell.term))
      subjects.insert({term.metric, cell.estimator == Estimator::PairedRatio});
  }
  return subjects;
}

/// The smallest distance from "no difference" that the criterion's bounds of ratios, or of differences, claim, or half
/// the width of its narrowest band; nothing for bounds at "no difference".
std::optional<double> gapOf(const Criterion& criterion, bool ratios) {
  std::optional<double> smallest;
  for (const plan::Cell& cell : criterion.cells) {
    if (isSeen(criterion, cell) || (cell.estimator == Estimator::PairedRatio) != ratios) continue;
    const double neutral = ratios ? 1 : 0;
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

}  // namespace

double controlConfidence(const Plan& plan) {
  return 1 - (1 - kConfidence) / double(std::max<size_t>(1, plan.controls.size()));
}

std::optional<double> gapForControls(const Criterion& criterion) {
  if (!compares(criterion)) return std::nullopt;
  return gapOf(criterion, criterion.cells.front().estimator == Estimator::PairedRatio);
}

namespace {

std::map<Subject, std::optional<double>> gapsOf(const Plan& plan) {
  std::map<Subject, std::optional<double>> gaps;
  for (const Criterion& criterion : plan.criteria) {
    if (!compares(criterion)) continue;
    for (const Subject& subject : subjectsOf(criterion)) {
      const std::optional<double> gap = gapOf(criterion, subject.ratio);
      std::optional<double>& smallest = gaps[subject];
      if (gap && (!smallest || *gap < *smallest)) smallest = gap;
    }
  }
  return gaps;
}

/// Control over point, of one metric. Both are the same but for one that runs alone, and a block's order is random:
/// only what an earlier run leaves behind for a later one can make them differ, so they are compared by time.
plan::Cell controlCell(const plan::Control& control, const Subject& subject, TrialKind kind) {
  const Place place(control.point, control.name);
  const auto metric = [&](const Place& read) { return plan::termOf(MetricTerm{subject.metric, read}); };
  plan::Cell cell;
  cell.kind = kind;
  cell.points = {place, control.point};
  cell.estimator = subject.ratio ? Estimator::PairedRatio : Estimator::PairedDifference;
  using Op = plan::OperationTerm::Op;
  cell.term = plan::termOf(
      plan::OperationTerm{subject.ratio ? Op::Ratio : Op::Difference, {metric(place), metric(control.point)}});
  return cell;
}

/// Half of a gap to each side of no difference.
plan::Bound bandOf(const ControlResult& control, double gap) {
  const double neutral = control.ratio ? 1 : 0;
  return {plan::Relation::Within, neutral - gap / 2, neutral + gap / 2, ""};
}

/// Whether the interval of a control, which has one, leaves the band of a gap.
bool leaves(const ControlResult& control, double gap) {
  return !satisfies(bandOf(control, gap), control.estimate.interval->low, control.estimate.interval->high);
}

/// Whether the control shows a difference between identical runs.
bool differs(const ControlResult& control) {
  const double neutral = control.ratio ? 1 : 0;
  return control.estimate.interval->low > neutral || control.estimate.interval->high < neutral;
}

ControlResult judgeControl(const Evidence& evidence, const plan::Control& control, const Subject& subject,
                           const Metric& metric, std::optional<double> gap) {
  ControlResult result;
  result.name = control.name;
  result.point = control.point;
  result.metric = subject.metric;
  result.ratio = subject.ratio;
  if (gap) result.margin = *gap / 2;
  const Arms arms = control.name == plan::kAlone ? Arms::AsNamed : Arms::ByTime;
  result.estimate =
      measure(evidence, controlCell(control, subject, metric.kind), controlConfidence(evidence.index.plan()), arms)
          .estimate;
  result.untrusted = gap && result.estimate.interval && leaves(result, *gap) && differs(result);
  return result;
}

/// Marks a decided criterion as untrusted where a control differs from its point by what may be half of a gap; of an
/// undecided one there is nothing to trust. The gap is the criterion's own, so that one tight claim does not spoil the
/// others; where it claims none, the smallest that is claimed of the metric. A control that shows no difference and
/// excludes none is only noted.
void distrust(const Criterion& criterion, const std::vector<ControlResult>& controls, CriterionResult& result) {
  const std::set<Subject> subjects = subjectsOf(criterion);
  for (const ControlResult& control : controls) {
    if (!control.estimate.interval || !subjects.count({control.metric, control.ratio})) continue;
    const std::optional<double> gap = gapOf(criterion, control.ratio);
    if (!gap && !control.margin) continue;
    const double held_to = gap ? *gap : 2 * *control.margin;
    if (!leaves(control, held_to)) continue;
    const Distrust found{control, held_to, gap.has_value()};
    if (!differs(control)) {
      if (!result.unshown) result.unshown = found;
      continue;
    }
    if (result.verdict == Verdict::Pass || result.verdict == Verdict::Fail) result.untrusted = found;
    return;
  }
}

}  // namespace

void judgeControls(const Evidence& evidence, Judgement& judgement) {
  const Plan& plan = evidence.index.plan();
  std::map<Subject, std::optional<double>> gaps = gapsOf(plan);
  if (gaps.empty()) {
    for (const Metric& metric : plan.metrics)
      if (hasControls(plan, metric.kind) && !metric.exact) gaps[{metric.name, true}] = std::nullopt;
  }
  for (const plan::Control& control : plan.controls) {
    for (const auto& [subject, gap] : gaps) {
      const Metric* metric = plan.findMetric(subject.metric);
      if (!metric || !hasControls(plan, metric->kind)) continue;
      judgement.controls.push_back(judgeControl(evidence, control, subject, *metric, gap));
    }
  }
  for (size_t i = 0; i < judgement.criteria.size() && i < plan.criteria.size(); ++i)
    if (compares(plan.criteria[i])) distrust(plan.criteria[i], judgement.controls, judgement.criteria[i]);
}

}  // namespace expc::judge
