#pragma once

// The trials of a criterion's points that gave no value. Losses that differ between arms may bias what is left of them.

#include <string>
#include <vector>

#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

/// Returns how trials ended at the points that a criterion reads; a point without trials is left out.
std::vector<const PointStatus*> statusesOf(const Judgement& judgement, const Criterion& criterion);

/// Whether all trials of some point that the criterion reads timed out, apart from those that failed.
bool onlyTimesOut(const Judgement& judgement, const Criterion& criterion);

/// The trials of one point without a value (failed, disturbed, out of memory), of all that it had.
struct ArmLosses {
  std::string point;
  unsigned lost = 0, all = 0;

  double share() const { return double(lost) / (all > 0 ? all : 1); }
};

/// The points that a criterion reads, the largest share of losses first; empty unless the largest share is at least ten
/// percentage points above the smallest.
std::vector<ArmLosses> unevenLosses(const Judgement& judgement, const Criterion& criterion);

}  // namespace expc::describe
