#include "runtime/analysis/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "runtime/analysis/needs.h"
#include "runtime/analysis/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/design.h"
#include "runtime/stats/estimators.h"

namespace expc::analysis {
namespace {

using store::TrialStatus;

std::string labelOf(const plan::Plan& plan, const std::string& place) {
  const store::PlaceParts parts = store::partsOf(place);
  const plan::Point* point = plan.findPoint(parts.point);
  std::string label = point ? plan.label(*point) : "";
  if (label.empty()) label = "the point";
  return parts.label.empty() ? label : label + " (control " + parts.label + ")";
}

/// The first line of what a worker said, short enough for a verdict's line.
std::string brief(const std::string& reason) {
  std::string line = reason.substr(0, reason.find('\n'));
  if (line.size() > 120) line = line.substr(0, 117) + "...";
  return line;
}

bool isExact(const plan::Plan& plan, const plan::Term& term) {
  const std::vector<plan::MetricTerm> metrics = metricTerms(term);
  return !metrics.empty() && std::all_of(metrics.begin(), metrics.end(), [&](const plan::MetricTerm& metric) {
    const plan::Metric* declared = plan.findMetric(metric.metric);
    return declared && declared->exact;
  });
}

/// Block values of one cell, with what was lost.
struct BlockValues {
  std::vector<double> values;  // by block and session
  std::set<int64_t> tried;     // blocks in which some point of the cell was run
  std::set<int64_t> complete;
  std::set<int64_t> sessions;
  std::map<std::string, unsigned> losses;  // why, in how many blocks
  bool timed_out = false;                  // one of the values
};

/// Why a block has no value: the first point of the cell that has none.
std::string whyLost(const Evidence& evidence, const plan::Cell& cell, int64_t block, int64_t session) {
  for (const std::string& point : cell.points) {
    const Outcome* outcome = evidence.outcomes.of(cell.kind, point).find(block, session);
    if (!outcome) return labelOf(evidence.plan, point) + " was not run in the same block and session";
    if (outcome->ended()) continue;
    const std::string reason = brief(outcome->trial->reason);
    const bool memory = outcome->trial->status == TrialStatus::Infeasible;
    return labelOf(evidence.plan, point) + (memory ? " ran out of memory" : " failed") +
           (reason.empty() ? "" : ": " + reason);
  }
  return "";
}

BlockValues blockValues(const Evidence& evidence, const plan::Cell& cell) {
  std::set<std::pair<int64_t, int64_t>> places;
  for (const std::string& point : cell.points) {
    for (const Outcome& outcome : evidence.outcomes.of(cell.kind, point).outcomes) {
      places.insert({outcome.block, outcome.session});
    }
  }
  BlockValues result;
  for (const auto& [block, session] : places) {
    result.tried.insert(block);
    std::string why = whyLost(evidence, cell, block, session);
    if (why.empty()) {
      Reading reading =
          evaluate(*cell.term, [&, block = block, session = session](const plan::MetricTerm& term) -> Reading {
            const Outcome* outcome = evidence.outcomes.of(cell.kind, term.point).find(block, session);
            if (!outcome || !outcome->ended())
              return {std::nullopt, false, "no trial of " + labelOf(evidence.plan, term.point)};
            Reading found = readMetric(evidence.plan, evidence.outcomes, term.metric, *outcome);
            if (!found.value && found.why.ends_with("is missing from the trials"))
              found.why += " of " + labelOf(evidence.plan, term.point);
            return found;
          });
      const bool ratio = cell.estimator == plan::Estimator::PairedRatio;
      if (reading.value && ratio && *reading.value <= 0 && !reading.timed_out) {
        reading = {std::nullopt, false, "a ratio needs values above 0"};
      }
      if (reading.value) {
        // The worst rate is 0 in a ratio.
        result.timed_out |= reading.timed_out;
        result.values.push_back(ratio ? std::max(0.0, *reading.value) : *reading.value);
        result.complete.insert(block);
        result.sessions.insert(session);
        continue;
      }
      why = reading.why;
    }
    ++result.losses[why];
  }
  return result;
}

stats::NestedIntervals intervalsOf(const plan::Cell& cell, const std::vector<double>& values) {
  switch (cell.estimator) {
    case plan::Estimator::Median:
      return stats::orderStatistics(values);
    case plan::Estimator::PairedDifference:
      return stats::signedRank(values);
    case plan::Estimator::PairedRatio:
      break;
  }
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return stats::signedRank(logs).mapped([](double log) { return std::exp(log); });
}

/// The loss that happened most often.
std::string commonLoss(const BlockValues& values) {
  const auto most = std::max_element(values.losses.begin(), values.losses.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == values.losses.end() ? "" : most->first;
}

/// Sets the state from what is known of the cell's points alone; Measured if nothing speaks against it.
void judgePoints(const Evidence& evidence, const plan::Cell& cell, MeasuredCell& result) {
  const auto set = [&](CellState state, std::string why) {
    result.state = state;
    result.estimate.why = std::move(why);
  };
  result.state = CellState::Measured;
  for (size_t i = 0; i < cell.points.size(); ++i) {
    const plan::Point* point = evidence.plan.findPoint(store::partsOf(cell.points[i]).point);
    const std::string label = labelOf(evidence.plan, cell.points[i]);
    const PointOutcomes& outcomes = evidence.outcomes.of(cell.kind, cell.points[i]);
    const bool treated = i == 0;
    const unsigned blocks = outcomes.infeasible_blocks;
    if (outcomes.outcomes.empty()) {
      std::string why = label + " was not run";
      if (point && !point->unavailable.empty())
        why = label + " is not available here: " + point->unavailable;
      else if (point && !point->expected_infeasible.empty())
        why = label + " is expected infeasible, not started: " + point->expected_infeasible;
      return set(CellState::NotRun, std::move(why));
    }
    if (blocks >= kInfeasibleBlocks) {
      const std::string why = fmt::format("{} ran out of memory in {} blocks", label, blocks);
      return set(treated ? CellState::Infeasible : CellState::NoBaseline, treated ? why : "no baseline: " + why);
    }
    if (treated && blocks > 0 && outcomes.valid() > 0) {
      return set(CellState::Unstable, fmt::format("{} is unstable: out of memory in {} of {} blocks", label, blocks,
                                                  outcomes.outcomes.size()));
    }
  }
}

/// "needs 6 pairs, has 4", with what became of the others.
std::string tooFew(const plan::Cell& cell, const BlockValues& values, double confidence) {
  const auto have = static_cast<unsigned>(values.values.size());
  std::string text = fmt::format("needs {} for {:g} % confidence, has {}",
                                 countNoun(cell, stats::minimumPairs(confidence)), confidence * 100, have);
  const std::string loss = commonLoss(values);
  return loss.empty() ? text : text + " (" + loss + ")";
}

}  // namespace

unsigned plannedOf(const plan::KindDesign& design, unsigned complete) {
  return std::clamp(complete, design.repeat, design.most());
}

Evidence gather(const plan::Plan& plan, const store::Results& results, const Outcomes& outcomes) {
  Evidence evidence{plan, outcomes, {}};
  for (const plan::KindDesign& design : plan.design.kinds) {
    const std::vector<std::string> points = nextBlock(plan, design.kind, results);
    evidence.wanted[static_cast<size_t>(design.kind)] = {points.begin(), points.end()};
  }
  return evidence;
}

MeasuredCell measure(const Evidence& evidence, const plan::Cell& cell, double confidence) {
  MeasuredCell result;
  const BlockValues values = blockValues(evidence, cell);
  Scope& scope = result.estimate.scope;
  for (const plan::KindDesign& design : evidence.plan.design.kinds) {
    if (design.kind == cell.kind) scope.planned = plannedOf(design, static_cast<unsigned>(values.values.size()));
  }
  scope.complete = static_cast<unsigned>(values.values.size());
  for (const int64_t block : values.tried) scope.lost += values.complete.count(block) == 0;
  scope.sessions = static_cast<unsigned>(values.sessions.size());
  std::set<std::string> hosts;
  for (const int64_t session : values.sessions) hosts.insert(evidence.outcomes.host(session));
  scope.nodes = static_cast<unsigned>(hosts.size());

  const bool adaptive =
      std::any_of(evidence.plan.design.kinds.begin(), evidence.plan.design.kinds.end(),
                  [&](const plan::KindDesign& design) { return design.kind == cell.kind && !design.until.empty(); });
  const auto& wanted = evidence.wanted[static_cast<size_t>(cell.kind)];
  result.unfinished = (scope.complete < scope.planned || adaptive) &&
                      std::any_of(cell.points.begin(), cell.points.end(),
                                  [&](const std::string& point) { return wanted.count(point) != 0; });
  result.estimate.values = values.values;
  result.timed_out = values.timed_out;
  judgePoints(evidence, cell, result);
  if (values.values.empty()) {
    if (result.state == CellState::Measured) {
      result.state = CellState::Lost;
      result.estimate.why = commonLoss(values);
    }
    return result;
  }
  result.exact = isExact(evidence.plan, *cell.term) && std::isfinite(values.values.front()) &&
                 std::equal(values.values.begin() + 1, values.values.end(), values.values.begin());
  result.estimate.constant = result.exact;
  result.intervals =
      result.exact ? stats::NestedIntervals::exactly(values.values.front()) : intervalsOf(cell, values.values);
  result.estimate.estimate = result.intervals.estimate();
  result.estimate.interval = result.intervals.interval(confidence);
  if (result.state == CellState::Measured && !result.estimate.interval)
    result.estimate.why = tooFew(cell, values, confidence);
  return result;
}

std::string cellLabel(const std::vector<std::string>& factors, const plan::Cell& cell) {
  std::string text;
  for (size_t i = 0; i < std::min(factors.size(), cell.labels.size()); ++i) {
    text += (text.empty() ? "" : " ") + factors[i] + "=" + cell.labels[i];
  }
  return text;
}

std::string countNoun(const plan::Cell& cell, unsigned count) {
  const char* noun = cell.points.size() > 1 ? "pair" : "trial";
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace expc::analysis
