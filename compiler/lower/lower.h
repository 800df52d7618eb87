#pragma once

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/points/prepared.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// More points than this are not written into one plan; looking at them one by one (points::Prepared) has no such
/// limit.
inline constexpr uint64_t kMaxPlanPoints = 1'000'000;

/// A text whatever its layout.
std::string withoutBlanks(std::string text);
/// What a selected study means, by section: the fields of its outlined plan without texts, labels and what a machine
/// makes of them, beside sums of the ids of its points and of what its criteria ask about. Declarations follow each
/// other as they do in the plan.
llvm::json::Object meaningOf(const plan::Plan& head, const points::Prepared& prepared);
/// Its hash, the same in whichever order things are declared.
std::string digestOf(llvm::json::Object meaning);

/// A plan without what grows with the number of points.
struct Outline {
  plan::Plan head;             // points empty; comparisons and criteria without cells
  llvm::json::Object meaning;  // what its digest is of
  uint64_t points = 0, available = 0, expected_infeasible = 0;
  /// By comparison and criterion, those beside them that the machine's memory excludes apart.
  std::vector<uint64_t> comparison_cells, criterion_cells, comparison_unfit, criterion_unfit;
};
/// Its digest included.
Outline outlineOf(const points::Prepared& prepared);

/// The whole plan of a prepared study; nothing after reporting that it has more points than kMaxPlanPoints (E0404).
std::optional<plan::Plan> planOf(points::Prepared& prepared, diag::Emitter& emitter);

}  // namespace expc::lower
