#include "runtime/analysis/outcomes.h"

#include <algorithm>
#include <utility>

namespace expc::analysis {

std::optional<size_t> PlaceOutcomes::find(int64_t block, int64_t session) const {
  const auto found =
      std::lower_bound(outcomes.begin(), outcomes.end(), std::pair(block, session),
                       [](const Outcome& a, const auto& b) { return std::pair(a.block, a.session) < b; });
  if (found == outcomes.end() || found->block != block || found->session != session) return std::nullopt;
  return static_cast<size_t>(found - outcomes.begin());
}

std::vector<Outcome>::const_iterator PlaceOutcomes::firstOf(int64_t block) const {
  // Blocks are mostly asked for in the order in which they were added.
  if (outcomes.empty() || outcomes.back().block < block) return outcomes.end();
  return std::lower_bound(outcomes.begin(), outcomes.end(), block,
                          [](const Outcome& outcome, int64_t wanted) { return outcome.block < wanted; });
}

bool PlaceOutcomes::endedIn(int64_t block, int64_t session) const {
  const std::optional<size_t> found = find(block, session);
  return found && outcomes[*found].ended();
}

bool PlaceOutcomes::settledInfeasible() const { return infeasible - forgiven_infeasible >= kInfeasibleBlocks; }

}  // namespace expc::analysis
