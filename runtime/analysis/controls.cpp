#include "runtime/analysis/controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
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

ControlResult judgeControl(const Evidence& evidence, const plan::Control& control, const Subject& subject,
                           const plan::Metric& metric, std::optional<double> gap) {
  ControlResult result;
  result.name = control.name;
  result.point = control.point;
  result.metric = subject.metric;
  result.ratio = subject.ratio;
  if (gap) result.margin = *gap / 2;
  result.estimate = measure(evidence, cellOf(control, subject, metric.kind), kConfidence).estimate;
  const std::string who =
      fmt::format("{} of {}", subject.metric, placeLabel(evidence.index, {control.point, control.name}));
  if (!result.estimate.interval) {
    result.why = who + " is not judged: " + (result.estimate.why.empty() ? "not run" : result.estimate.why);
    return result;
  }
  const double neutral = subject.ratio ? 1 : 0;
  const std::string unit = subject.ratio ? "x" : metric.unit, dimension = subject.ratio ? "" : metric.dimension;
  const char* what =
      control.name == plan::kAlone ? "alone against beside others it differs by" : "the same twice differs by";
  const std::string shown = formatInterval(*result.estimate.interval, unit, dimension);
  if (!result.margin) {
    result.why = fmt::format("{}: {} {}; no criterion claims a gap to hold it against", who, what, shown);
    return result;
  }
  const plan::Bound band{plan::Relation::Within, neutral - *result.margin, neutral + *result.margin, ""};
  result.untrusted = !satisfies(band, result.estimate.interval->low, result.estimate.interval->high);
  result.why = fmt::format("{}: {} {}, {} {} (half the smallest gap claimed)", who, what, shown,
                           result.untrusted ? "which leaves" : "within",
                           formatInterval({band.low, band.high, kConfidence}, unit, dimension));
  return result;
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
  for (size_t i = 0; i < judgement.criteria.size() && i < plan.criteria.size(); ++i) {
    if (!compares(plan.criteria[i])) continue;
    const std::set<Subject> subjects = subjectsOf(plan.criteria[i]);
    for (const ControlResult& control : judgement.controls) {
      if (!control.untrusted || !subjects.count({control.metric, control.ratio})) continue;
      judgement.criteria[i].untrusted = control.why;
      break;
    }
  }
}

}  // namespace expc::analysis
