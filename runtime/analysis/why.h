#pragma once

// The line that explains a verdict: what users read first. It stands alone, with numbers and units.

#include <string>
#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/claims.h"
#include "runtime/analysis/judgement.h"

namespace expc::analysis {

/// "all 4 cells: smallest 1.52x [1.48x, 1.57x] >= 1.2x": explains one criterion from its measured cells, whose verdicts
/// are set. Sets what is said of each cell: "" of one that passes, else e.g. "1.18x [1.10x, 1.25x] does not decide >=
/// 1.2x"; and, of a cell that its own interval would decide if it were the only one and that the others leave open, the
/// interval that they leave it. `levels`: those at which cells are decided, where intervals at them are those of one
/// look; else empty.
std::string explain(const plan::Plan& plan, const plan::Criterion& criterion, Verdict verdict,
                    std::vector<Levels> levels, std::vector<MeasuredCell>& cells);

}  // namespace expc::analysis
