#pragma once

// Which trials a plan still lacks. The engine asks after each block; nothing here looks at verdicts, so stopping cannot
// bias them.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::analysis {

/// What is left of one kind of trial if nothing more is lost: for the progress bar.
struct Remaining {
  unsigned blocks = 0;
  uint64_t trials = 0;
};

/// The places (points in plan order, then controls; store::placeOf) that the next block appended for `kind` must run;
/// empty: nothing more to do.
///
/// A point needs `repeat` ended trials, and every cell that reads several points needs `repeat` blocks in which all of
/// them ended within one session. Valid and timed-out trials count as ended (a timeout is a value, the worst; running
/// it again would take as long). Lost ones are repeated until ceil(repeat / 2) more blocks than `repeat` have been
/// tried. A point infeasible in two blocks needs no more, nor does any cell that reads it; a point that is unavailable
/// on the system, or expected infeasible, is never asked for. What failed for good keeps counting against its cap in
/// later runs; to try it afresh, leave its failed trials out of `results`. `results.trials` must hold only trials that
/// count for the plan; their order does not matter.
///
/// A control needs what its point needs, and as many blocks with it; it runs in timed blocks (in quality ones where a
/// design has no others). Where repetitions adapt (`until`), `repeat` blocks are followed by one more at a time, of all
/// points, until every `until` is met or there are `repeat_most`.
std::vector<std::string> nextBlock(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results);

/// How wide the intervals are that `until` speaks of; empty if the kind's repetitions do not adapt. Cells that cannot
/// run or that ran out of memory are left aside: no repetition makes them narrower.
std::vector<UntilState> untilStates(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results);

/// Whether trials of `kind` have controls beside them.
bool hasControls(const plan::Plan& plan, plan::TrialKind kind);

/// How many blocks and trials nextBlock will still ask for if every trial ends well (and, where repetitions adapt, if
/// the next block is the last). Blocks are appended whole, so
/// `blocks` is the largest need of a point or cell and `trials` the sum over the points.
Remaining remaining(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results);

}  // namespace expc::analysis
