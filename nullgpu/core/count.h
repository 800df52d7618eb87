#pragma once

// What the core itself counts; counters() tells it.

#include "nullgpu/core/activity.h"

namespace nullgpu {

/// Counts something that a card did and tells the listener.
void tell(const Activity& activity);
void countAllocation();
/// The host waits.
void countSynchronization();

}  // namespace nullgpu
