#pragma once

// What further blocks would do for the criteria that are open: studies that go on from what is stored are simulated,
// and decided as stored ones are.

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::simulate {

/// Sets CriterionResult::next of the criteria that have a confidence and are undecided: the fewest blocks
/// with which the criterion as a whole, its tree of cells, is decided in kPower of the simulated studies. Where the
/// design is complete, these blocks are a look that nobody planned, and pay for it.
///
/// A study has the blocks that are stored, and further ones. What is true of it is an estimate from as many blocks,
/// resampled (a bootstrap, whole blocks at a time, so that cells stay beside each other; Efron 1979), since that is how
/// much the stored ones leave open. Its further blocks give an estimate that scatters about this truth in the same way,
/// by the root of their number; both scatter no less than the cell's own interval says. Intervals are those of a normal
/// estimate, with the looks, the correction for several cells, the correlation of values and the stop by width that the
/// stored ones have.
///
/// A cell with too few values for an interval gets the blocks that one takes. None is set where blocks cannot help: a
/// cell has no values, a clock's step keeps it open, sessions lie apart, or a control leaves the verdict untrusted.
void advise(const plan::Plan& plan, const store::Results& results, analysis::Judgement& judgement);

/// What analysis::judge says, with what comes next.
analysis::Judgement judge(const plan::Plan& plan, const store::Results& results);

}  // namespace expc::simulate
