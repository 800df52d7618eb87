#pragma once

// Which trials a plan still lacks. The engine asks when it has room for a block. What the design says in numbers
// decides, and the widths of intervals (`until`); verdicts do only at the looks that the design plans, which
// intervals pay for, so that stopping biases nothing. What judges knows nothing of what is lacking.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/judge/cells.h"
#include "runtime/judge/index.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"

namespace expc::judge {

/// A block that was begun and is not over: its trials are taken for ended well, those that have ended in it for what
/// they are.
struct BlockUnderWay {
  int64_t block = 0;
  std::vector<Place> places;
};

/// The rest of one kind of trial if nothing more is lost, for the progress bar, and what is stored of it.
struct Remaining {
  unsigned blocks = 0;
  uint64_t trials = 0;
  uint64_t again = 0;   // of these trials: their block was cut short before the rest of their pairs
  uint64_t stored = 0;  // trials that ended with a value, timeouts included
};

/// The places (points in plan order, then controls) that the next block of `kind` must run beside those under way;
/// empty: nothing more to do.
///
/// A point needs `repeat` ended trials, and every cell that reads several points needs `repeat` blocks in which all of
/// them ended within one session. Valid and timed-out trials count as ended (a timeout is a value, the worst; running
/// it again would take as long), but a timeout under a limit that is larger now counts for nothing. Lost ones are
/// repeated until ceil(repeat / 2) more blocks than `repeat` have been tried; what failed for good keeps counting
/// against that in later runs, unless they are told otherwise (RunPolicy::retry_failed), what was disturbed only in its
/// own. A point infeasible in two blocks, or given up in this run, needs no more, nor does any cell that reads it; what
/// only pairs read needs none either once a member of each was given up, since it would be measured beside nothing. One
/// that is unavailable on the system, expected infeasible, or left out of the run is never asked for.
///
/// A control needs what its point needs, and as many blocks with it; it runs in timed blocks (in quality ones where a
/// design has no others). Where repetitions adapt (`until`), `repeat` blocks are followed by one more at a time until
/// every `until` is met (where looksAtWidths) or there are `repeat_most`; every block is then of all places that have
/// not been tried so often, also one that makes up for what was lost, and what is lost is made up for within
/// `repeat_most`.
std::vector<Place> nextBlock(const Index& index, TrialKind kind, std::span<const BlockUnderWay> under_way = {});

/// How many blocks and trials nextBlock will still ask for if every trial ends well (and, where repetitions adapt, if
/// the next block is the last). Blocks are appended whole, so `blocks` is the largest need of a point or cell and
/// `trials` the sum over the points.
Remaining remaining(const Index& index, TrialKind kind);

/// Whether this is a number of repetitions at which `until` is looked at: at every one up to 128, from there on at
/// about every hundredth more. Looking costs as much as there are repetitions, so a block costs the same however many
/// there are.
bool looksAtWidths(const Index& index, TrialKind kind);

/// How wide the intervals are that `until` speaks of; empty if the kind's repetitions do not adapt. Cells that cannot
/// run or that ran out of memory are left aside, and those without an interval that get no further trial: no repetition
/// makes them narrower.
std::vector<UntilState> untilStates(const Index& index, TrialKind kind);

/// The repetitions that a design asks for now: up to its next look; where a look decided every criterion of the kind,
/// those that it had; else all.
unsigned repetitionsAsked(const Index& index, const KindDesign& design);
/// The design whose trials ended before all that were planned because a look decided; null: none.
const KindDesign* endedAtLook(const Index& index);
/// Repetitions of the place or group with the fewest, of all that are asked for.
unsigned fewestRepetitions(const Index& index, TrialKind kind);

/// Whether some point or pair that can run has not got the repetitions that the design asks for at least, whether or
/// not it will be tried again.
bool lacksTrials(const Index& index);

/// Collects what can be judged now, and which parts of it still need trials.
Evidence gather(const Index& index);

}  // namespace expc::judge
