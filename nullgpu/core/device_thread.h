#pragma once

#include "nullgpu/core/queues.h"

namespace nullgpu {

/// Where the operation stands that the device's thread is at.
struct Place {
  unsigned card = 0;
  uint32_t stream = 0, correlation = 0;
};

/// One step of an operation, on the device's thread. `begin`: when it was first tried, 0 before that. What it did is
/// told once it is done.
/// @returns whether it is done.
bool perform(Operation& operation, const Place& place, uint64_t& begin);

/// Where the operation stands that calls this.
const Place& currentPlace();

}  // namespace nullgpu
