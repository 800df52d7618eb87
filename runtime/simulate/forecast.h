#pragma once

// Forecasts what further blocks would do for open criteria: simulates studies that go on from the stored results, and
// decides them as stored ones are. Plan and results come in, a judgement with its next steps goes out; verdicts on what
// is stored are left to analysis.

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

/// The judgement of analysis::judge, with the next step of each undecided criterion.
analysis::Judgement judge(const plan::Plan& plan, const store::Results& results);

}  // namespace expc::simulate
