#pragma once

// Counts what tensors on the CPU hold, as the allocators of accelerators do for themselves.

#include <cstdint>

namespace expc::memory {

/// From now on every tensor on the CPU is counted. Those that exist already are not.
void countTensors();

/// Bytes that counted tensors hold.
int64_t held();
/// The most since resetPeak.
int64_t peak();
void resetPeak();

}  // namespace expc::memory
