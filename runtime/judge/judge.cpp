#include "runtime/judge/judge.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/text.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/meaning.h"
#include "runtime/judge/needs.h"
#include "runtime/judge/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/serial.h"

namespace expc::judge {
namespace {

PointStatus statusOf(const Evidence& evidence, const Point& point, const KindDesign& design) {
  const PlaceOutcomes& outcomes = evidence.index.of(design.kind, point.id);
  PointStatus status{outcomes, point.id, design.kind};
  status.planned = point.startable() ? plannedOf(design, outcomes.ended) : 0;
  status.lost = std::ranges::count(outcomes.outcomes, TrialStatus::Failed, &Outcome::status);
  for (const auto& [metric, column] : evidence.index.columns())
    if (!outcomes.not_on_device.empty() && outcomes.not_on_device[column]) status.not_on_device.push_back(metric);
  status.lacking = point.startable() && !outcomes.outcomes.empty() && !evidence.index.settled(design.kind, outcomes) &&
                   outcomes.ended < repetitionsAsked(evidence.index, design) && !evidence.wants(design.kind, point.id);
  const double limit = evidence.index.limit(design.kind, point.id);
  status.needs_limit = std::ranges::any_of(
      outcomes.outcomes, [&](const Outcome& outcome) { return outcome.superseded && outcome.limit >= limit; });
  return status;
}

/// The metric at the point; n = 0 if it has no value. Timeouts and what diverged count in the ranks if the metric was
/// measured at all.
Summary summarise(const Evidence& evidence, const Point& point, const Metric& metric) {
  const Index& index = evidence.index;
  const PlaceOutcomes& place = index.of(metric.kind, point.id);
  Summary summary;
  summary.point = point.id;
  summary.metric = metric.name;
  const double worst = metric.better == plan::Direction::Lower ? INFINITY : -INFINITY;
  std::vector<double> ranked;
  std::vector<int64_t> sessions, runs;
  bool absent = false;
  for (size_t i = 0; i < place.outcomes.size(); ++i) {
    const Outcome& outcome = place.outcomes[i];
    if (!outcome.ended()) continue;
    const Reading reading = readMetric(index, metric.name, place, i);
    summary.diverged += reading.worst.diverged;
    if (!reading.value || std::isnan(*reading.value)) {
      absent |= outcome.valid();
      continue;
    }
    ranked.push_back(*reading.value);
    sessions.push_back(outcome.session);
    runs.push_back(outcome.run);
    if (std::isfinite(*reading.value))
      summary.values.push_back(*reading.value);
    else if (!reading.worst.diverged)
      ++(outcome.valid() ? summary.never : summary.timeouts);
  }
  if (ranked.empty() || (absent && summary.values.empty())) return summary;
  summary.n = ranked.size();
  const auto& [correlation, range] = evidence.of(metric.name);
  summary.trend = correlation > 0 ? stats::trendOf(ranked, sessions) : 0;
  summary.correlation = correlation;
  summary.worth = double(ranked.size()) / stats::inflationOf(correlation, sessions);
  summary.spreads = stats::spreads(ranked, sessions, stats::Pairing::Alone);
  stats::NestedIntervals intervals =
      stats::widened(stats::orderStatistics(ranked), correlation, sessions, range.scale());
  if (summary.trend != 0) intervals = intervals.estimateAlone();
  if (summary.spreads) intervals = summary.spreads->allowFor(intervals);
  if (stoppedByWidth(index, metric.kind, runs)) intervals = intervals.afterWidthStop();
  intervals = range.limit(intervals);
  summary.median = intervals.estimate();
  summary.interval = intervals.interval(kConfidence);
  const auto [low, high] = std::ranges::minmax_element(summary.values);
  summary.minimum = summary.values.empty() ? worst : *low;
  summary.maximum = summary.values.empty() ? worst : *high;
  summary.constant =
      metric.exact && summary.n > 1 && summary.values.size() == summary.n && summary.minimum == summary.maximum;
  summary.outliers = stats::tukeyOutliers(summary.values);
  return summary;
}

/// A point without any value; running out of memory and timing out are answers.
void noteMissing(const Index& index, const PointStatus& status, Judgement& judgement) {
  if (status.planned == 0 || status.ended > 0 || status.infeasible >= kInfeasibleBlocks) return;
  const std::string what = missingPoint(index.plan(), status.kind, *index.point(status.point));
  const bool tried = status.failed + status.invalid + status.infeasible > 0;
  judgement.missing.push_back({what,
                               tried ? plan::because({.code = plan::Reason::Said, .said = brief(status.last_reason)})
                                     : plan::because({plan::Reason::NotRun}),
                               status.lost > 0 ? Verdict::Broken
                               : tried         ? Verdict::Inconclusive
                                               : Verdict::NotRun});
}

/// Cells all of whose points have values.
void noteMissing(const Index& index, const Comparison& comparison, Judgement& judgement) {
  for (const CellEstimate& estimate : judgement.comparisons.back().cells) {
    const plan::Cell& cell = comparison.cells[estimate.cell];
    const auto has_value = [&](const Place& place) { return index.of(cell.kind, place).ended > 0; };
    const auto on_device = [&](const MetricTerm& term) {
      return missingOnDevice(index, index.of(cell.kind, term.place), term.metric).empty();
    };
    const auto terms = plan::metricTerms(*cell.term);
    if ((!estimate.values.empty() && !estimate.unusable) || !std::ranges::all_of(cell.points, has_value) ||
        !std::ranges::all_of(terms, on_device))
      continue;
    judgement.missing.push_back(
        {comparison.name + base::framed(" at ", cellLabel(index.plan(), comparison.factors, cell)),
         estimate.unusable ? estimate.unusable : estimate.why, Verdict::Inconclusive});
  }
}

ComparisonResult compare(const Evidence& evidence, const Comparison& comparison) {
  ComparisonResult result;
  result.name = comparison.name;
  for (size_t i = 0; i < comparison.cells.size(); ++i) {
    CellEstimate estimate = measure(evidence, comparison.cells[i], kConfidence).estimate;
    estimate.cell = i;
    result.cells.push_back(std::move(estimate));
  }
  return result;
}

}  // namespace

Judgement judge(const Plan& plan, const Results& results) { return judge(Index(plan, results)); }

Judgement judge(const Index& index, const Index* with_earlier) {
  const Plan& plan = index.plan();
  Evidence evidence = gather(index);
  std::optional<Evidence> whole;
  if (with_earlier) evidence.with_earlier = &whole.emplace(gather(*with_earlier));
  Judgement judgement;
  judgement.unfinished = evidence.wantsAny();
  judgement.spent_seconds = index.spentSeconds();
  for (const Point& point : plan.points) {
    for (const KindDesign& design : plan.design.kinds) {
      judgement.points.push_back(statusOf(evidence, point, design));
      noteMissing(index, judgement.points.back(), judgement);
    }
    for (const Metric& metric : plan.metrics) {
      Summary summary = summarise(evidence, point, metric);
      const PlaceOutcomes& place = index.of(metric.kind, point.id);
      if (!plan.tells(metric, point) || !missingOnDevice(index, place, metric.name).empty()) continue;
      if (summary.n > 0)
        judgement.summaries.push_back(std::move(summary));
      else if (place.ended > 0)
        judgement.missing.push_back(
            {metric.name + " at " + placeLabel(plan, &point),
             plan::because({summary.diverged > 0 ? plan::Reason::Diverged : plan::Reason::NoUsableValue}),
             Verdict::Inconclusive});
    }
  }
  for (const Comparison& comparison : plan.comparisons) {
    judgement.comparisons.push_back(compare(evidence, comparison));
    noteMissing(index, comparison, judgement);
  }
  for (const Criterion& criterion : plan.criteria) judgement.criteria.push_back(judgeCriterion(evidence, criterion));
  judgeControls(evidence, judgement);
  for (const KindDesign& design : plan.design.kinds) {
    for (UntilState& state : untilStates(index, design.kind)) judgement.untils.push_back(std::move(state));
  }
  if (index.onNullCards()) withholdVerdicts(judgement);
  return judgement;
}

std::string missingPoint(const Plan& plan, TrialKind kind, const Point& point) {
  return std::string(toString(kind)) + " " + placeLabel(plan, &point);
}

void withholdVerdicts(Judgement& judgement) {
  const plan::Why withheld = plan::because({plan::Reason::OnNullCards});
  const auto open = [&](auto& judged) {
    if (judged.verdict == Verdict::NotRun || judged.verdict == Verdict::NotAsked) return;
    judged.verdict = Verdict::Inconclusive;
    judged.why = withheld;
  };
  judgement.null_cards = true;
  for (CriterionResult& criterion : judgement.criteria) {
    if (criterion.verdict != Verdict::NotRun && criterion.verdict != Verdict::NotAsked) {
      criterion.untrusted.reset();
      criterion.unshown.reset();
      criterion.next.reset();  // more of what computes nothing decides nothing
      for (CellEstimate& cell : criterion.cells) open(cell);
    }
    open(criterion);
  }
  for (ComparisonResult& comparison : judgement.comparisons)
    for (CellEstimate& cell : comparison.cells)
      if (cell.estimate) cell.why = withheld;
  for (ControlResult& control : judgement.controls) {
    control.untrusted = false;
    control.estimate.why = withheld;
  }
}

int exitCode(const Judgement& judgement) {
  bool tried = false, valid = false, asked = false;
  std::set<int> codes;
  for (const PointStatus& point : judgement.points) {
    valid = valid || point.valid > 0;
    tried = tried || point.valid + point.failed + point.timeouts + point.infeasible + point.invalid > 0;
  }
  for (const CriterionResult& criterion : judgement.criteria) {
    const Meaning& meaning = meaningOf(criterion);
    asked |= meaning.answer != Answer::NotAsked;
    if (meaning.exit_code != 0) codes.insert(meaning.exit_code);
  }
  if (!tried || (!asked && !valid)) return 5;
  // A selection of points without any claim about them has decided nothing.
  if (!asked && !judgement.criteria.empty()) codes.insert(meaningOf(Verdict::NotRun).exit_code);
  for (const Missing& missing : judgement.missing) codes.insert(meaningOf(missing.verdict).exit_code);
  const int broken = meaningOf(Verdict::Broken).exit_code;
  return codes.empty() ? 0 : codes.contains(broken) ? broken : *codes.begin();
}

}  // namespace expc::judge
