#pragma once

// Properties of the host's side of a process: memory that malloc keeps, the peak of resident
// memory, the process's age.

#include <llvm/Support/JSON.h>

#include <optional>

#include "runtime/base/clock.h"
#include "runtime/base/llvm.h"

namespace expc::device {

/// Makes malloc keep freed memory. Returning large activations and faulting them in again costs
/// more than many operators do (1.1 to 3 times the time of a training step). Also asks for huge
/// pages there. Call it before much memory is used and while only one thread runs.
void keepFreedMemory();
/// Adds the settings in force as "allocator".
void describeAllocator(json::Object& environment);

/// The largest number of resident bytes so far (VmHWM); nothing if /proc does not say.
std::optional<double> residentPeak();

/// The time at which this process began, from /proc with a resolution of 10 ms; now, if that cannot
/// be read.
base::Clock::time_point processStart();

}  // namespace expc::device
