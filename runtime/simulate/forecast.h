#pragma once

// Forecasts what further blocks would do for open criteria: simulates studies that go on from the stored results, and
// decides them as stored ones are. Plan and results come in, a judgement with its next steps goes out; verdicts on what
// is stored are left to judge.

#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"

namespace expc::simulate {

/// Sets CriterionResult::next of undecided criteria that have a confidence: the fewest blocks with which kPower of the
/// simulated studies decide the whole criterion, its tree of cells. If the design is complete, these blocks are an
/// unplanned look, and pay for it.
///
/// A simulated study has the stored blocks and further ones. Its true effect is an estimate from as many resampled
/// blocks, since the stored blocks leave that much open. The bootstrap (Efron 1979) draws whole blocks, so cells
/// stay beside each other. The further blocks give an estimate that scatters about this true effect in the same
/// way, with the root of their number. Both scatter at least as much as the cell's own interval implies. Intervals
/// are those of a normal estimate. They keep the looks, the correction for several cells, the correlation of values
/// and the stop by width of the stored results.
///
/// A cell with too few values for an interval gets the number of blocks that gives one. No step is set where blocks
/// cannot help: a cell has no values, a clock's step keeps it open, or a control leaves the verdict untrusted. If
/// sessions differ, further sessions are simulated, each with a mean that scatters as theirs do.
void advise(const Plan& plan, const Results& results, Conclusions& judgement);

/// Sets the next step of criteria that are diagnosed at their measured values. A diagnosis takes these for true, and a
/// next step allows for their error, so both numbers of blocks are given (NextStep::at_estimate).
void advise(const Plan& plan, const Results& results, Diagnosis& diagnosis);

/// The conclusions of describe::conclude, with the next step of each undecided criterion (advise). Reports call this
/// one.
Conclusions judge(const Plan& plan, const Results& results);

}  // namespace expc::simulate
