#pragma once

// How long a step takes at least: what its operators compute and move, over the most that the system's devices can do.
// It is no prediction. Everything is taken to overlap with everything else, and what has no shape or no rate costs
// nothing.

#include <optional>
#include <string_view>

#include "runtime/plan/plan.h"
#include "runtime/plan/trial.h"
#include "runtime/rehearsal/rehearsal.h"

namespace expc::rehearsal {

/// What a bound comes from.
enum class Limit { Products, Memory, Link, HostLink };
/// "products", "memory", "link", "host link".
std::string_view toString(Limit limit);

struct LeastTime {
  double seconds = 0;
  Limit limit = Limit::Products;  // the slowest of them
};

/// The least time of one step of a point on `devices` devices in all, of the slowest rank. Nothing where no rate is
/// known of anything that the step does.
/// Memory: `RehearsedRank::memory_bytes` over the bandwidth. Link: a rank sends or receives (N-1)/N of what an
/// all-gather, reduce-scatter or all-to-all of N ranks ends or begins with, and all of what it reduces or broadcasts,
/// whatever the algorithm, in-network reduction included (the bounds of Chan et al., Collective communication: theory,
/// practice, and experience, 2007).
std::optional<LeastTime> leastStep(const plan::Rehearsed& rehearsed, unsigned devices, const plan::Rates& rates);

/// What the steps of a plan take at least, in seconds of one device: of all trials with a stated number of steps of
/// the points that were rehearsed. Nothing where no point has a bound.
std::optional<double> leastDeviceSeconds(const plan::Plan& plan, const Study& study);

}  // namespace expc::rehearsal
