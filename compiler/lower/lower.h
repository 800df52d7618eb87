#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/survey/prepared.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// More points than this are not written into one plan; looking at them one by one (Prepared) has no such limit.
inline constexpr uint64_t kMaxPlanPoints = 1'000'000;

/// A plan without what grows with the number of points.
struct Outline {
  plan::Plan head;             // points empty; comparisons and criteria without cells
  llvm::json::Object meaning;  // what its digest is of (digest.h)
  uint64_t points = 0, available = 0, expected_infeasible = 0;
  /// By comparison and criterion, those beside them that the machine's memory excludes apart.
  std::vector<uint64_t> comparison_cells, criterion_cells, comparison_unfit, criterion_unfit;
};
/// Its digest included.
Outline outlineOf(const Prepared& prepared);

/// The whole plan of a prepared study; nothing after reporting that it has more points than kMaxPlanPoints (E0404).
std::optional<plan::Plan> planOf(Prepared& prepared, diag::Emitter& emitter);

}  // namespace expc::lower
