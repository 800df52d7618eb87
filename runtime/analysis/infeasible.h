#pragma once

#include <set>
#include <string>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/judgement.h"

namespace expc::analysis {

/// Ids of the points of which a criterion claims that they run out of memory. They are started whatever is expected of
/// them, since an estimate decides no claim.
std::set<std::string> claimedInfeasible(const plan::Plan& plan);

/// The verdict of a criterion that claims that its points run out of memory. A point passes when it did in
/// kInfeasibleBlocks blocks (in its only block, if the design has no second; the line says how little that shows) and
/// never ran well; it fails when a trial of it was valid; else it is inconclusive, or not run. `result` has name and
/// domain.
void judgeInfeasible(const Evidence& evidence, const plan::Criterion& criterion, CriterionResult& result);

}  // namespace expc::analysis
