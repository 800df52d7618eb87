#include "runtime/analysis/judgement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/criteria.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::analysis {
namespace {

PointStatus statusOf(const plan::Point& point, const plan::KindDesign& design, const PointOutcomes& outcomes) {
  PointStatus status;
  status.point = point.id;
  status.kind = design.kind;
  status.planned = point.unavailable.empty() ? design.repeat : 0;
  status.valid = outcomes.valid();
  status.failed = outcomes.failed;
  status.timeouts = outcomes.timeouts;
  status.infeasible = outcomes.infeasible_blocks;
  status.last_reason =
      outcomes.outcomes.empty() && !point.unavailable.empty() ? point.unavailable : outcomes.last_reason;
  return status;
}

/// The metric at the point; n = 0 if it has no value. Timeouts count in the ranks if the metric was measured at all.
Summary summarise(const plan::Point& point, const plan::Metric& metric, const PointOutcomes& outcomes) {
  Summary summary;
  summary.point = point.id;
  summary.metric = metric.name;
  const double worst = metric.better == plan::Direction::Lower ? std::numeric_limits<double>::infinity()
                                                               : -std::numeric_limits<double>::infinity();
  std::vector<double> ranked;
  bool absent = false;
  for (const Outcome& outcome : outcomes.outcomes) {
    if (!outcome.ended()) continue;
    const store::Trial& trial = *outcome.trial;
    if (!outcome.valid()) {
      ranked.push_back(worst);
      ++summary.timeouts;
      continue;
    }
    const auto found = trial.metrics.find(metric.name);
    if (found == trial.metrics.end() || std::isnan(found->second)) {
      absent = true;
      continue;
    }
    ranked.push_back(found->second);
    summary.values.push_back(found->second);
  }
  if (ranked.empty() || (absent && summary.values.empty())) return summary;
  summary.n = static_cast<unsigned>(ranked.size());
  const stats::NestedIntervals intervals = stats::orderStatistics(ranked);
  summary.median = *intervals.estimate();
  summary.interval = intervals.interval(kConfidence);
  const auto [low, high] = std::minmax_element(summary.values.begin(), summary.values.end());
  summary.minimum = summary.values.empty() ? worst : *low;
  summary.maximum = summary.values.empty() ? worst : *high;
  summary.constant = metric.exact && summary.timeouts == 0 && summary.minimum == summary.maximum;
  summary.outliers = stats::tukeyOutliers(summary.values);
  return summary;
}

ComparisonResult compare(const Evidence& evidence, const plan::Comparison& comparison) {
  ComparisonResult result;
  result.name = comparison.name;
  for (size_t i = 0; i < comparison.cells.size(); ++i) {
    CellEstimate estimate = measure(evidence, comparison.cells[i], kConfidence).estimate;
    estimate.cell = static_cast<unsigned>(i);
    result.cells.push_back(std::move(estimate));
  }
  return result;
}

}  // namespace

std::string_view toString(Verdict verdict) {
  switch (verdict) {
    case Verdict::Pass:
      return "pass";
    case Verdict::Fail:
      return "fail";
    case Verdict::Inconclusive:
      return "inconclusive";
    case Verdict::Infeasible:
      return "infeasible";
    case Verdict::NotRun:
      return "not run";
    case Verdict::NotAsked:
      return "not asked";
  }
  return "unknown";
}

const Summary* Judgement::find(std::string_view point, std::string_view metric) const {
  const auto found = std::find_if(summaries.begin(), summaries.end(), [&](const Summary& summary) {
    return summary.point == point && summary.metric == metric;
  });
  return found == summaries.end() ? nullptr : &*found;
}

Judgement judge(const plan::Plan& plan, const store::Results& results) {
  const Outcomes outcomes(results);
  const Evidence evidence = gather(plan, results, outcomes);
  Judgement judgement;
  for (const plan::Point& point : plan.points) {
    for (const plan::KindDesign& design : plan.design.kinds) {
      judgement.points.push_back(statusOf(point, design, outcomes.of(design.kind, point.id)));
    }
    for (const plan::Metric& metric : plan.metrics) {
      Summary summary = summarise(point, metric, outcomes.of(metric.kind, point.id));
      if (summary.n > 0 && !outcomes.notOnDevice(metric.name)) judgement.summaries.push_back(std::move(summary));
    }
  }
  for (const plan::Comparison& comparison : plan.comparisons)
    judgement.comparisons.push_back(compare(evidence, comparison));
  for (const plan::Criterion& criterion : plan.criteria)
    judgement.criteria.push_back(judgeCriterion(evidence, criterion));
  return judgement;
}

int exitCode(const Judgement& judgement) {
  bool tried = false, valid = false, asked = false, failed = false, open = false;
  for (const PointStatus& point : judgement.points) {
    valid = valid || point.valid > 0;
    tried = tried || point.valid + point.failed + point.timeouts + point.infeasible > 0;
  }
  for (const CriterionResult& criterion : judgement.criteria) {
    if (criterion.verdict == Verdict::NotAsked) continue;
    asked = true;
    failed = failed || criterion.verdict == Verdict::Fail || criterion.verdict == Verdict::Infeasible;
    open = open || criterion.verdict == Verdict::Inconclusive || criterion.verdict == Verdict::NotRun;
  }
  if (!tried || (!asked && !valid)) return 5;
  return failed ? 3 : open ? 4 : 0;
}

}  // namespace expc::analysis
