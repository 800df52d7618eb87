#include "runtime/analysis/claims.h"

#include <algorithm>

#include "runtime/stats/nested_intervals.h"
#include "runtime/stats/procedures.h"

namespace expc::analysis {
namespace {

using Kind = plan::Claim::Kind;

/// p-values of a subtree: of all children the largest, of one child the smallest times their number (Holm's first
/// step).
Evidences combine(const plan::Claim& claim, const std::vector<Evidences>& cells) {
  if (claim.kind == Kind::Cell) return claim.cell < cells.size() ? cells[claim.cell] : Evidences{};
  if (claim.children.empty()) return {};
  double largest_satisfied = 0, largest_violated = 0, smallest_satisfied = 1, smallest_violated = 1;
  for (const plan::Claim& child : claim.children) {
    const Evidences p = combine(child, cells);
    largest_satisfied = std::max(largest_satisfied, p.satisfied);
    largest_violated = std::max(largest_violated, p.violated);
    smallest_satisfied = std::min(smallest_satisfied, p.satisfied);
    smallest_violated = std::min(smallest_violated, p.violated);
  }
  const auto m = static_cast<double>(claim.children.size());
  if (claim.kind == Kind::ForAll) return {largest_satisfied, std::min(1.0, m * smallest_violated)};
  return {std::min(1.0, m * smallest_satisfied), largest_violated};
}

/// Gives each cell the levels at which its own pass and fail are decided.
void assign(const plan::Claim& claim, const std::vector<Evidences>& cells, double pass_level, double fail_level,
            Decision& decision) {
  if (claim.kind == Kind::Cell) {
    if (claim.cell >= cells.size()) return;
    const Evidences& p = cells[claim.cell];
    decision.levels[claim.cell] = {pass_level, fail_level};
    if (stats::significant(p.satisfied, pass_level)) decision.cells[claim.cell] = Verdict::Pass;
    if (stats::significant(p.violated, fail_level)) decision.cells[claim.cell] = Verdict::Fail;
    return;
  }
  const bool forall = claim.kind == Kind::ForAll;
  std::vector<double> p_values;
  for (const plan::Claim& child : claim.children) {
    const Evidences p = combine(child, cells);
    p_values.push_back(forall ? p.violated : p.satisfied);
  }
  const std::vector<double> holm = stats::holmLevels(p_values, forall ? fail_level : pass_level);
  for (size_t i = 0; i < claim.children.size(); ++i) {
    assign(claim.children[i], cells, forall ? pass_level : holm[i], forall ? holm[i] : fail_level, decision);
  }
}

}  // namespace

Decision decide(const plan::Claim& claim, const std::vector<Evidences>& cells, double alpha) {
  Decision decision;
  decision.cells.assign(cells.size(), Verdict::Inconclusive);
  decision.levels.resize(cells.size());
  assign(claim, cells, alpha, alpha, decision);
  const Evidences root = combine(claim, cells);
  if (stats::significant(root.satisfied, alpha)) decision.verdict = Verdict::Pass;
  if (stats::significant(root.violated, alpha)) decision.verdict = Verdict::Fail;
  return decision;
}

}  // namespace expc::analysis
