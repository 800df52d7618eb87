#pragma once

#include "runtime/analysis/cells.h"
#include "runtime/analysis/judgement.h"

namespace expc::analysis {

/// The verdict of one criterion, with the line that explains it.
CriterionResult judgeCriterion(const Evidence& evidence, const plan::Criterion& criterion);

}  // namespace expc::analysis
