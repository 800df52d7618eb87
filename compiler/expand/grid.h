#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/expand/assignment.h"

namespace expc::expand {

/// More points than this are refused.
inline constexpr uint64_t kMaxPoints = 1'000'000;

/// The points of a selected study: those of the product at which all rules hold that do not ask about the system.
struct Grid {
  struct Removed {
    uint64_t count = 0;
    std::vector<std::vector<unsigned>> examples;  // the first few; kOpen where a factor was not looked at
  };
  size_t width = 0;              // factors
  std::vector<unsigned> levels;  // `width` for each point, indices into declared levels
  size_t points = 0;
  uint64_t product = 1;          // before rules; saturates
  std::vector<Removed> removed;  // for each rule of the study; the first violated one counts

  std::span<const unsigned> point(size_t index) const { return {levels.data() + index * width, width}; }
  size_t size() const { return points; }
};

/// Walks the factors in declared order and applies each rule as soon as its factors are chosen. Nothing after
/// reporting: a rule without a value somewhere (E0210, E0211, E0223), too many points (E0404).
std::optional<Grid> expandGrid(const check::Selected& selected, diag::Emitter& emitter);

/// A smallest set of rules (indices) that together leave no point: none can be missed. Empty if the grid is not empty,
/// or if it is too large to tell.
std::vector<unsigned> minimalConflict(const check::Selected& selected);

}  // namespace expc::expand
