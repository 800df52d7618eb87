#pragma once

// Spreads the same work over many items on several threads.

#include <cstdint>
#include <functional>

#include "runtime/base/llvm.h"

namespace expc::base {

/// Called by the calling thread between items, with the number of finished ones. Its error ends the work.
using Tick = std::function<Error(int64_t done, int64_t total)>;

/// The number of cores that this process may use (its affinity).
unsigned allCores();

/// Calls `work` once for each number from 0 to count - 1, from several threads including the calling one. Returns
/// the error of the first item that fails, in the order of items; later items may be left out. So the error does
/// not depend on the schedule.
Error forEach(int64_t count, unsigned threads, const std::function<Error(int64_t)>& work, const Tick& tick = nullptr);

}  // namespace expc::base
