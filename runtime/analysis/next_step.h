#pragma once

#include <optional>

#include "runtime/analysis/criteria.h"

namespace expc::analysis {

/// For an undecided criterion with a confidence. The half-width of an interval shrinks with the root of the pairs, so a
/// cell whose estimate is `gap` from its bound takes about pairs * (half-width / gap)^2, and somewhat more where blocks
/// beyond those that are planned make a further look, whose intervals are wider (looks.h). A cell without an interval
/// takes as many pairs as one needs. Of a forall the cell that takes the most counts, of an exists the one that takes
/// the least. Nothing where a cell lacks something else than pairs: its trials fail, or were not run, or a clock's step
/// keeps it open.
std::optional<NextStep> nextStep(const Evidence& evidence, const plan::Criterion& criterion,
                                 const MeasuredCriterion& measured);

/// For a criterion that is untrusted because the interval of a control leaves its `band`, by the same rule. Nothing
/// where the estimate lies outside too: then no number of pairs would bring the interval in.
std::optional<NextStep> nextStepForTrust(const Evidence& evidence, const plan::Cell& control, const plan::Bound& band,
                                         const CellEstimate& estimate);

}  // namespace expc::analysis
