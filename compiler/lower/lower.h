#pragma once

#include <optional>
#include <vector>

#include "compiler/survey/prepared.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// More points than this are not written into one plan; looking at them one by one (Prepared) has no such limit.
inline constexpr uint64_t kMaxPlanPoints = 1'000'000;

/// A plan without what grows with the number of points.
struct Outline {
  plan::Plan head;  // points empty; comparisons and criteria without cells
  uint64_t points = 0, available = 0, expected_infeasible = 0;
  /// By comparison and criterion, those beside them that the machine's memory excludes apart.
  std::vector<uint64_t> comparison_cells, criterion_cells, comparison_unfit, criterion_unfit;
};
/// Its digest included.
Outline outlineOf(const Prepared& prepared);

/// The whole plan of a prepared study; nothing after reporting that it has more points than kMaxPlanPoints (E0404).
std::optional<plan::Plan> planOf(Prepared& prepared, diag::Emitter& emitter);

/// The plan of one study: the selected one, which must be named where the file has several. Reports what `verify`
/// reports for it, with the effective design and the system; nothing after an error. `program` must come from a check
/// without errors. Plan::root is the absolute folder of the root file. Without a system no point is marked.
std::optional<plan::Plan> compile(const check::Program& program, const select::Selection& selection,
                                  const check::System* system, diag::Emitter& emitter);

/// The plans of all studies of the file, or of the selected one; empty after an error.
std::vector<plan::Plan> compileAll(const check::Program& program, const select::Selection& selection,
                                   const check::System* system, diag::Emitter& emitter);

}  // namespace expc::lower
