// Finds the conditions of a criterion's error rate that are not met or were not checked. Judged cells come in, codes go
// out; their words are in report/conditions_text.cpp.

#include <algorithm>
#include <set>

#include "runtime/judge/criteria.h"
#include "runtime/stats/serial.h"

namespace expc::judge {
namespace {

/// Trials of the places that a criterion reads that gave no value: failed, disturbed, out of memory. A timeout is a
/// value, worse than all others, unless no cell could use one.
unsigned lostTrials(const Index& index, const Criterion& criterion, const CriterionResult& result) {
  std::set<std::pair<TrialKind, Place>> places;
  for (const plan::Cell& cell : criterion.cells)
    for (const Place& place : cell.points) places.emplace(cell.kind, place);
  const bool timeouts_count =
      std::ranges::any_of(result.cells, [](const CellEstimate& cell) { return cell.worst.timed_out; });
  unsigned lost = 0;
  for (const auto& [kind, place] : places) {
    const PlaceOutcomes& outcomes = index.of(kind, place);
    lost += outcomes.failed + outcomes.invalid + outcomes.infeasible;
    if (!timeouts_count) lost += outcomes.timeouts - std::min(outcomes.timeouts, outcomes.superseded);
  }
  return lost;
}

}  // namespace

std::vector<Condition> conditionsOf(const Index& index, const Criterion& criterion, const CriterionResult& result) {
  std::vector<Condition> conditions;
  bool varies = false, unchecked = false, single = false;
  double correlation = 0;
  for (const CellEstimate& cell : result.cells) {
    if (cell.values.empty() || cell.constant) continue;
    varies = true;
    const bool paired = plan::isPaired(criterion.cells[cell.cell]);
    const bool few = paired && cell.correlation == 0 && cell.values.size() < stats::kPairsThatShow;
    unchecked |= !criterion.confidence || cell.worth == 0 || few;
    correlation = std::max(correlation, cell.correlation);
    single |= !paired;
  }
  if (!varies) return conditions;
  if (unchecked) conditions.push_back({Condition::Independent, criterion.confidence ? 0 : correlation});
  if (criterion.confidence && correlation > 0) conditions.push_back({Condition::Correlated, correlation});
  if (const unsigned lost = lostTrials(index, criterion, result); lost > 0)
    conditions.push_back({Condition::LostAlike, double(lost)});
  if (!criterion.confidence) return conditions;
  if (result.scope.sessions == 1) conditions.push_back({Condition::OneSession});
  if (result.scope.sessions == 2) conditions.push_back({Condition::TwoSessions});
  if (single) conditions.push_back({Condition::SingleArm});
  return conditions;
}

}  // namespace expc::judge
