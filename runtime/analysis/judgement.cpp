#include "runtime/analysis/judgement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/controls.h"
#include "runtime/analysis/criteria.h"
#include "runtime/analysis/needs.h"
#include "runtime/analysis/null_cards.h"
#include "runtime/analysis/readings.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::analysis {
namespace {

PointStatus statusOf(const plan::Point& point, const plan::KindDesign& design, const PointOutcomes& outcomes) {
  PointStatus status;
  status.point = point.id;
  status.kind = design.kind;
  status.valid = outcomes.valid();
  status.planned = point.startable() ? plannedOf(design, outcomes.ended()) : 0;
  status.failed = outcomes.failed;
  status.timeouts = outcomes.timeouts;
  status.infeasible = outcomes.infeasible_blocks;
  status.last_reason = outcomes.last_reason;
  if (outcomes.outcomes.empty() && !point.unavailable.empty())
    status.last_reason = point.unavailable;
  else if (outcomes.outcomes.empty() && !point.expected_infeasible.empty())
    status.last_reason = "expected infeasible, not started: " + point.expected_infeasible;
  return status;
}

/// The metric at the point; n = 0 if it has no value. Timeouts count in the ranks if the metric was measured at all.
Summary summarise(const plan::Plan& plan, const Outcomes& all, const plan::Point& point, const plan::Metric& metric) {
  const PointOutcomes& outcomes = all.of(metric.kind, point.id);
  Summary summary;
  summary.point = point.id;
  summary.metric = metric.name;
  const double worst = metric.better == plan::Direction::Lower ? std::numeric_limits<double>::infinity()
                                                               : -std::numeric_limits<double>::infinity();
  std::vector<double> ranked;
  bool absent = false;
  for (const Outcome& outcome : outcomes.outcomes) {
    if (!outcome.ended()) continue;
    const Reading reading = readMetric(plan, all, metric.name, outcome);
    if (!outcome.valid()) {
      ranked.push_back(worst);
      ++summary.timeouts;
      continue;
    }
    if (!reading.value || std::isnan(*reading.value)) {
      absent = true;
      continue;
    }
    ranked.push_back(*reading.value);
    if (std::isfinite(*reading.value))
      summary.values.push_back(*reading.value);
    else
      ++summary.never;
  }
  if (ranked.empty() || (absent && summary.values.empty())) return summary;
  summary.n = static_cast<unsigned>(ranked.size());
  const stats::NestedIntervals intervals = stats::orderStatistics(ranked);
  summary.median = *intervals.estimate();
  summary.interval = intervals.interval(kConfidence);
  const auto [low, high] = std::minmax_element(summary.values.begin(), summary.values.end());
  summary.minimum = summary.values.empty() ? worst : *low;
  summary.maximum = summary.values.empty() ? worst : *high;
  summary.constant = metric.exact && summary.timeouts + summary.never == 0 && summary.minimum == summary.maximum;
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
      Summary summary = summarise(plan, outcomes, point, metric);
      const bool measured = metric.derived || !outcomes.notOnDevice(metric.name);
      if (summary.n > 0 && measured) judgement.summaries.push_back(std::move(summary));
    }
  }
  for (const plan::Comparison& comparison : plan.comparisons)
    judgement.comparisons.push_back(compare(evidence, comparison));
  for (const plan::Criterion& criterion : plan.criteria)
    judgement.criteria.push_back(judgeCriterion(evidence, criterion));
  judgeControls(evidence, judgement);
  for (const plan::KindDesign& design : plan.design.kinds) {
    for (UntilState& state : untilStates(plan, design.kind, results)) judgement.untils.push_back(std::move(state));
  }
  if (results.onNullCards()) withholdVerdicts(judgement);
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
    const bool trusted = criterion.untrusted.empty();
    failed = failed || (trusted && (criterion.verdict == Verdict::Fail || criterion.verdict == Verdict::Infeasible));
    open = open || !trusted || criterion.verdict == Verdict::Inconclusive || criterion.verdict == Verdict::NotRun;
  }
  if (!tried || (!asked && !valid)) return 5;
  return failed ? 3 : open ? 4 : 0;
}

}  // namespace expc::analysis
