#pragma once

// NVTX for ranges. A build without CUDA has empty functions: no tool of NVIDIA's looks at it.

#include <cstdint>

#include "runtime/worker/profile/range.h"

namespace expc::profile::nvtx {

/// Ranges that nest, of this thread.
void push(Phase phase);
void pop();
/// Ranges that need not nest.
uint64_t start(Phase phase);
void end(uint64_t id);

}  // namespace expc::profile::nvtx
