#pragma once

// Judges a plan's results. An index of the records comes in, a Judgement comes out.

#include <string>

#include "runtime/judge/index.h"
#include "runtime/judge/results.h"

namespace expc::judge {

/// Judges the plan of an index by its records, as docs/layers/statistics.md says. Pure, and independent of the order of
/// the records. Simulated GPUs decide nothing: every criterion and control that their results could decide stays open.
/// Comparisons have intervals at kConfidence; a criterion's cells have them at its own confidence. Holm's correction
/// over the cells applies to fail of a forall and pass of an exists. If a cell's own interval would decide it and Holm
/// leaves it open, the cell shows the interval at the level that Holm leaves it. `with_earlier`: for a part of a store,
/// the same field of store::PartResults.
Judgement judge(const Index& index, const Index* with_earlier = nullptr);
Judgement judge(const Plan& plan, const Results& results);

/// Opens every verdict, with null cards as the reason, and marks the judgement: such cards compute nothing, so what
/// they measure decides nothing, neither times nor losses nor what fits into memory. Estimates stay, and so do criteria
/// that were not asked or not run.
void withholdVerdicts(Judgement& judgement);

/// docs/layers/statistics.md: 0 all pass and nothing is missing, 6 something is broken, 3 some fail (infeasible counts
/// as fail), 4 some undecided, missing or not run, 5 nothing ran (no trial of any point; without criteria: no valid
/// trial). Criteria that are not asked say nothing; an untrusted or provisional verdict counts as undecided, whatever
/// it is.
int exitCode(const Judgement& judgement);

/// "timed gpus=2": a point as Missing::what.
std::string missingPoint(const Plan& plan, TrialKind kind, const Point& point);

}  // namespace expc::judge
