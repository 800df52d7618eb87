#pragma once

// Writes a prepared study as a plan, the only thing that crosses to the runtime (docs/layers/plan.md). Two
// products: an Outline, which does not grow with the points and is enough for summaries and the digest, and the
// whole plan.
//
// A plan names points by ids, levels by labels and values in base units; from here on `double` replaces exact
// numbers.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/points/prepared.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// The most points of one plan, since each is an object in a document. Walking them (points::Prepared) has no
/// such limit.
inline constexpr uint64_t kMaxPlanPoints = 1'000'000;

/// A text without white space, so that layout does not change a digest.
std::string withoutBlanks(std::string text);
/// The meaning of a selected study, section by section: the fields of its outlined plan without texts, labels
/// and remarks of a machine, together with sums of the ids of its points and of what its criteria ask about.
/// Declarations keep the plan's order, so that a lock can name what changed.
json::Object meaningOf(const plan::Plan& head, const points::Prepared& prepared);
/// The digest of a meaning, independent of the order of declarations.
std::string digestOf(json::Object meaning);

/// A plan without the parts that grow with the number of points.
struct Outline {
  /// Digest included; without points, and with comparisons and criteria that have no cells.
  plan::Plan head;
  /// The text of which `head.digest` is the hash.
  json::Object meaning;
  /// All points, those that the system can run, and those of them that are expected to run out of memory.
  uint64_t points = 0, available = 0, expected_infeasible = 0;
  /// For each comparison and each criterion the number of cells, and apart from them the cells that are
  /// expected to run out of memory.
  std::vector<uint64_t> comparison_cells, criterion_cells, comparison_unfit, criterion_unfit;
};
/// The outline of a prepared study. Walks the points again for each `where` of a criterion.
Outline outlineOf(const points::Prepared& prepared);

/// The whole plan of a prepared study; nothing after reporting that it has more points than kMaxPlanPoints
/// (E0404).
std::optional<plan::Plan> planOf(points::Prepared& prepared, diag::Emitter& emitter);

}  // namespace expc::lower
