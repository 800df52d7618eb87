#pragma once

#include <optional>
#include <vector>

#include "runtime/analysis/cells.h"

namespace expc::analysis {

/// For a criterion with a confidence whose open cells all have intervals: the half-width of an interval shrinks with
/// the root of the pairs, so a cell whose estimate is `gap` from its bound takes about pairs * (half-width / gap)^2. Of
/// a forall the cell that takes the most counts, of an exists the one that takes the least. Nothing where an estimate
/// lies on its bound, or more than a hundred times the pairs would be needed: then another design is the answer.
std::optional<NextStep> nextStep(const Evidence& evidence, const plan::Criterion& criterion,
                                 const std::vector<MeasuredCell>& cells);

}  // namespace expc::analysis
