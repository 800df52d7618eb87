#include "runtime/analysis/judgement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/controls.h"
#include "runtime/analysis/criteria.h"
#include "runtime/analysis/description.h"
#include "runtime/analysis/looks.h"
#include "runtime/analysis/meaning.h"
#include "runtime/analysis/needs.h"
#include "runtime/analysis/null_cards.h"
#include "runtime/analysis/readings.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::analysis {
namespace {

PointStatus statusOf(const Evidence& evidence, const plan::Point& point, const plan::KindDesign& design) {
  const PlaceOutcomes& outcomes = evidence.index.of(design.kind, point.id);
  PointStatus status;
  status.point = point.id;
  status.kind = design.kind;
  status.valid = outcomes.valid;
  status.planned = point.startable() ? plannedOf(design, outcomes.ended) : 0;
  status.failed = outcomes.failed;
  status.timeouts = outcomes.timeouts;
  status.invalid = outcomes.invalid;
  status.infeasible = outcomes.infeasible_blocks;
  status.last_reason = outcomes.last_reason;
  status.memory_reason = outcomes.memory_reason;
  status.limit = outcomes.limit;
  status.superseded = outcomes.superseded;
  for (const auto& [metric, column] : evidence.index.columns())
    if (outcomes.not_on_device[column]) status.not_on_device.push_back(metric);
  status.lacking = point.startable() && !outcomes.outcomes.empty() && !outcomes.settledInfeasible() &&
                   outcomes.ended < repetitionsAsked(evidence.index, design) && !evidence.wants(design.kind, point.id);
  if (outcomes.outcomes.empty() && !point.unavailable.empty())
    status.last_reason = point.unavailable;
  else if (outcomes.outcomes.empty() && !point.expected_infeasible.empty())
    status.last_reason = "expected infeasible, not started: " + point.expected_infeasible;
  return status;
}

/// The metric at the point; n = 0 if it has no value. Timeouts count in the ranks if the metric was measured at all.
Summary summarise(const Index& index, const plan::Point& point, const plan::Metric& metric) {
  const PlaceOutcomes& place = index.of(metric.kind, point.id);
  Summary summary;
  summary.point = point.id;
  summary.metric = metric.name;
  const double worst = metric.better == plan::Direction::Lower ? std::numeric_limits<double>::infinity()
                                                               : -std::numeric_limits<double>::infinity();
  std::vector<double> ranked;
  std::vector<int64_t> sessions;
  bool absent = false;
  for (size_t i = 0; i < place.outcomes.size(); ++i) {
    const Outcome& outcome = place.outcomes[i];
    if (!outcome.ended()) continue;
    if (!outcome.valid() && !metric.better) continue;
    if (!outcome.valid()) {
      ranked.push_back(worst);
      sessions.push_back(outcome.session);
      ++summary.timeouts;
      continue;
    }
    const Reading reading = readMetric(index, metric.name, place, i);
    if (!reading.value || std::isnan(*reading.value)) {
      absent = true;
      continue;
    }
    ranked.push_back(*reading.value);
    sessions.push_back(outcome.session);
    if (std::isfinite(*reading.value))
      summary.values.push_back(*reading.value);
    else
      ++summary.never;
  }
  if (ranked.empty() || (absent && summary.values.empty())) return summary;
  summary.n = static_cast<unsigned>(ranked.size());
  stats::NestedIntervals intervals = stats::orderStatistics(ranked);
  if (repetitionsAdapt(index.plan(), metric.kind)) intervals = intervals.afterWidthStop();
  summary.spreads = stats::spreads(ranked, sessions);
  summary.median = intervals.estimate();
  summary.interval = intervals.interval(kConfidence);
  const auto [low, high] = std::minmax_element(summary.values.begin(), summary.values.end());
  summary.minimum = summary.values.empty() ? worst : *low;
  summary.maximum = summary.values.empty() ? worst : *high;
  summary.constant =
      metric.exact && summary.n > 1 && summary.timeouts + summary.never == 0 && summary.minimum == summary.maximum;
  summary.outliers = stats::tukeyOutliers(summary.values);
  return summary;
}

/// Whether the metric, or one that it is computed from, was found on this device at the point.
bool isMeasured(const Index& index, const plan::Point& point, const plan::Metric& metric) {
  return metric.derived || !index.notOnDevice(index.of(metric.kind, point.id), metric.name);
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

namespace {

/// The entry that `at` names by its key. Entries are only ever added to a list or all removed, so `at` fits while it
/// has as many.
template <class Entry, class Map, class KeyOf>
const Entry* lookUp(const std::vector<Entry>& entries, Map& at, const typename Map::key_type& key, KeyOf keyOf) {
  if (at.size() != entries.size()) {
    at.clear();
    for (size_t i = 0; i < entries.size(); ++i) at.try_emplace(keyOf(entries[i]), i);
  }
  const auto found = at.find(key);
  return found == at.end() ? nullptr : &entries[found->second];
}

}  // namespace

const Summary* Judgement::find(const std::string& point, const std::string& metric) const {
  return lookUp(summaries, summaries_at_, {point, metric},
                [](const Summary& summary) { return std::pair(summary.point, summary.metric); });
}

const PointStatus* Judgement::status(const std::string& point, plan::TrialKind kind) const {
  return lookUp(points, points_at_, {point, kind},
                [](const PointStatus& status) { return std::pair(status.point, status.kind); });
}

Judgement judge(const plan::Plan& plan, const store::Results& results) { return judge(Index(plan, results)); }

Judgement judge(const Index& index) {
  const plan::Plan& plan = index.plan();
  const Evidence evidence = gather(index);
  Judgement judgement;
  judgement.unfinished = evidence.wantsAny();
  judgement.spent_seconds = index.spentSeconds();
  for (const plan::Point& point : plan.points) {
    for (const plan::KindDesign& design : plan.design.kinds)
      judgement.points.push_back(statusOf(evidence, point, design));
    for (const plan::Metric& metric : plan.metrics) {
      Summary summary = summarise(index, point, metric);
      if (summary.n > 0 && isMeasured(index, point, metric)) judgement.summaries.push_back(std::move(summary));
    }
  }
  for (const plan::Comparison& comparison : plan.comparisons)
    judgement.comparisons.push_back(compare(evidence, comparison));
  for (const plan::Criterion& criterion : plan.criteria)
    judgement.criteria.push_back(judgeCriterion(evidence, criterion));
  judgeControls(evidence, judgement);
  for (const plan::KindDesign& design : plan.design.kinds) {
    for (UntilState& state : untilStates(index, design.kind)) judgement.untils.push_back(std::move(state));
  }
  if (index.onNullCards()) withholdVerdicts(judgement);
  judgement.description = std::make_shared<const Description>(describe(index));
  return judgement;
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
  return codes.empty() ? 0 : *codes.begin();
}

}  // namespace expc::analysis
