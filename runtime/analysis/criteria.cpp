#include "runtime/analysis/criteria.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/claims.h"
#include "runtime/analysis/format.h"
#include "runtime/analysis/infeasible.h"
#include "runtime/analysis/looks.h"
#include "runtime/analysis/next_step.h"
#include "runtime/analysis/why.h"

namespace expc::analysis {
namespace {

bool outOfMemory(CellState state) { return state == CellState::Infeasible || state == CellState::Unstable; }

/// Without a confidence the claim is about the trials themselves: each must satisfy the bound, and the planned ones
/// must be in.
Evidences everyTrial(const plan::Bound& bound, const MeasuredCell& cell) {
  const std::vector<double>& values = cell.estimate.values;
  const auto broken = [&](double value) { return !satisfies(bound, value, value); };
  if (std::any_of(values.begin(), values.end(), broken)) return {1, 0};
  return {values.empty() || cell.unfinished ? 1.0 : 0.0, 1};
}

Evidences evidenceOf(const plan::Criterion& criterion, const plan::Bound& bound, const MeasuredCell& cell) {
  if (outOfMemory(cell.state)) return {1, 0};
  if (cell.state != CellState::Measured) return {};
  Evidences found =
      criterion.confidence
          ? Evidences{cell.intervals.smallestAlpha(
                          [&](double low, double high) { return satisfies(bound, low, high); }),
                      cell.intervals.smallestAlpha([&](double low, double high) { return violates(bound, low, high); })}
          : everyTrial(bound, cell);
  if (!cell.estimate.unusable.empty()) found.satisfied = 1;
  return found;
}

Verdict cellVerdict(const MeasuredCell& cell, Verdict decided) {
  if (outOfMemory(cell.state)) return Verdict::Infeasible;
  if (cell.state == CellState::Broken) return Verdict::Broken;
  return cell.state == CellState::NotRun ? Verdict::NotRun : decided;
}

/// The smallest number of values over the cells, the most sessions and nodes.
Scope scopeOf(const std::vector<MeasuredCell>& cells) {
  Scope scope;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Scope& other = cells[i].estimate.scope;
    if (i == 0 || other.complete < scope.complete) {
      scope.planned = other.planned;
      scope.complete = other.complete;
    }
    scope.lost = std::max(scope.lost, other.lost);
    scope.sessions = std::max(scope.sessions, other.sessions);
    scope.nodes = std::max(scope.nodes, other.nodes);
  }
  return scope;
}

Verdict overall(const std::vector<MeasuredCell>& cells, Verdict decided) {
  const auto all = [&](auto holds) { return std::all_of(cells.begin(), cells.end(), holds); };
  if (all([](const MeasuredCell& cell) { return cell.state == CellState::NotRun; })) return Verdict::NotRun;
  if (all([](const MeasuredCell& cell) { return cell.state == CellState::Infeasible; })) return Verdict::Infeasible;
  if (decided == Verdict::Fail) return decided;
  // Also where one cell that passes would be enough: what was asked for is not there.
  if (!all([](const MeasuredCell& cell) { return cell.state != CellState::Broken; })) return Verdict::Broken;
  return all([](const MeasuredCell& cell) { return cell.estimate.unusable.empty(); }) ? decided : Verdict::Inconclusive;
}

}  // namespace

bool isLookedAt(const plan::Criterion& criterion, plan::TrialKind kind) {
  return criterion.confidence && !criterion.infeasible && !criterion.not_asked && !criterion.cells.empty() &&
         criterion.cells.front().kind == kind;
}

bool lookDecides(const plan::Plan& plan, plan::TrialKind kind, const std::vector<CriterionResult>& results) {
  bool any = false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!isLookedAt(plan.criteria[i], kind)) continue;
    const bool open = results[i].verdict == Verdict::Inconclusive || results[i].verdict == Verdict::NotRun;
    if (open || !results[i].untrusted.empty()) return false;  // no further trial mends Broken
    any = true;
  }
  return any;
}

MeasuredCriterion measureCriterion(const Evidence& evidence, const plan::Criterion& criterion) {
  MeasuredCriterion measured;
  const double confidence = criterion.confidence.value_or(kConfidence);
  for (size_t i = 0; i < criterion.cells.size(); ++i) {
    measured.cells.push_back(measure(evidence, criterion.cells[i], confidence));
    measured.cells.back().estimate.cell = static_cast<unsigned>(i);
  }
  if (criterion.confidence) measured.standing = standingOf(evidence, criterion, measured.cells);
  if (!measured.standing.only())
    for (MeasuredCell& cell : measured.cells)
      readAt(evidence.index.plan(), criterion.cells[cell.estimate.cell], measured.standing.look.confidence, cell);
  return measured;
}

Decision decideCriterion(const plan::Criterion& criterion, const MeasuredCriterion& measured) {
  std::vector<Evidences> evidences;
  for (const MeasuredCell& cell : measured.cells) {
    const plan::Bound& bound = boundOf(criterion, criterion.cells[cell.estimate.cell]);
    const Evidences one = evidenceOf(criterion, bound, cell);
    const stats::LookLevels& levels = measured.standing.levels;
    evidences.push_back({levels.overall(one.satisfied), levels.overall(one.violated)});
  }
  Decision decision = decide(criterion.claim, evidences, 1 - criterion.confidence.value_or(kConfidence));
  for (size_t i = 0; i < measured.cells.size(); ++i)
    decision.cells[i] = cellVerdict(measured.cells[i], decision.cells[i]);
  decision.verdict = overall(measured.cells, decision.verdict);
  return decision;
}

CriterionResult judgeCriterion(const Evidence& evidence, const plan::Criterion& criterion) {
  CriterionResult result;
  result.name = criterion.name;
  result.domain = criterion.domain;
  if (criterion.not_asked || criterion.cells.empty()) {
    result.verdict = Verdict::NotAsked;
    result.why = "the selection or the system leaves no point that it speaks about";
    return result;
  }
  if (criterion.infeasible) {
    judgeInfeasible(evidence, criterion, result);
    return result;
  }
  MeasuredCriterion measured = measureCriterion(evidence, criterion);
  const Decision decision = decideCriterion(criterion, measured);
  std::vector<MeasuredCell>& cells = measured.cells;
  if (!measured.standing.only()) result.look = measured.standing.look;
  for (size_t i = 0; i < cells.size(); ++i) cells[i].estimate.verdict = decision.cells[i];
  result.verdict = decision.verdict;
  result.why = explain(evidence.index.plan(), criterion, result.verdict,
                       measured.standing.only() ? decision.levels : std::vector<Levels>(), cells);
  // Beside them stand tables with 95 %.
  if (result.look && result.verdict <= Verdict::Inconclusive && result.look->confidence > *criterion.confidence)
    result.why += fmt::format(" (intervals of {})", formatConfidence(result.look->confidence));
  result.scope = scopeOf(cells);
  result.provisional =
      criterion.confidence && (result.verdict == Verdict::Pass || result.verdict == Verdict::Fail) &&
      std::any_of(cells.begin(), cells.end(), [](const MeasuredCell& cell) { return cell.unfinished; });
  const bool usable =
      std::all_of(cells.begin(), cells.end(), [](const MeasuredCell& cell) { return cell.estimate.unusable.empty(); });
  if (criterion.confidence && result.verdict == Verdict::Inconclusive && usable)
    result.next = nextStep(evidence, criterion, measured);
  for (MeasuredCell& cell : cells) result.cells.push_back(std::move(cell.estimate));
  return result;
}

}  // namespace expc::analysis
