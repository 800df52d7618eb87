#pragma once

#include <vector>

#include "compiler/expand/space.h"

namespace expc::expand {

struct WalkOptions {
  const std::vector<bool>* rules = nullptr;                    // of the study, which apply; null: all
  const std::vector<std::vector<unsigned>>* levels = nullptr;  // by factor; null: what the selection keeps
  std::optional<unsigned> present = {};                        // a factor that must be active
  bool only_first = false;     // factors that no rule reads need not be tried one by one
  bool count_removed = false;  // for each rule
  uint64_t most_points = kMaxPoints;
  uint64_t most_steps = 4 * kMaxPoints;
};

/// What a rule leaves out.
struct Removed {
  uint64_t count = 0;                           // the first violated rule counts
  std::vector<std::vector<unsigned>> examples;  // the first few; kOpen where a factor was not looked at
};

/// What a walk over the points of a space found.
struct Walk {
  Space::End end = Space::End::Done;
  /// How many points the product has. This and Removed::count are exact, unless they do not fit or too many factors
  /// depend on each other to count: then they are the largest number.
  uint64_t product = 0;
  std::vector<Removed> removed;  // by rule of the study; with `count_removed`
  bool exhausted = false;        // TooMany: not the points were too many, but the combinations that rules had to judge
};
/// Calls `visit` for each point in order, until it says false.
Walk walk(const Space& space, const WalkOptions& options, llvm::function_ref<bool(Levels)> visit);

/// A smallest set of rules (indices) that together leave no point with the levels in `kept` (and with `present`
/// active): none can be missed. Nothing if some point is left, or if it is too large to tell.
std::optional<std::vector<unsigned>> minimalConflict(const Space& space, const std::vector<std::vector<unsigned>>& kept,
                                                     std::optional<unsigned> present = std::nullopt);

}  // namespace expc::expand
