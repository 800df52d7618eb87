#pragma once

#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/claims.h"
#include "runtime/analysis/judgement.h"
#include "runtime/analysis/looks.h"

namespace expc::analysis {

/// What a criterion is decided from, whatever its bound is.
struct MeasuredCriterion {
  std::vector<MeasuredCell> cells;  // those of the criterion, in their order
  Standing standing;                // of a criterion with a confidence
};

/// For a criterion that has cells and claims no infeasibility.
MeasuredCriterion measureCriterion(const Evidence& evidence, const plan::Criterion& criterion);

/// The verdicts that the bounds of `criterion` get from what was measured for it: every one that there can be, of the
/// criterion and of each cell.
Decision decideCriterion(const plan::Criterion& criterion, const MeasuredCriterion& measured);

/// Whether intervals of this kind's trials decide it.
bool isLookedAt(const plan::Criterion& criterion, plan::TrialKind kind);

/// Whether a look with these results, one for each criterion of the plan, decides every criterion that intervals of the
/// kind's trials decide; false where there is none.
bool lookDecides(const plan::Plan& plan, plan::TrialKind kind, const std::vector<CriterionResult>& results);

/// The verdict of one criterion, with the line that explains it.
CriterionResult judgeCriterion(const Evidence& evidence, const plan::Criterion& criterion);

}  // namespace expc::analysis
