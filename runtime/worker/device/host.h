#pragma once

// What the host gives a process: memory that is kept, the peak of resident memory, its age.

#include <llvm/Support/JSON.h>

#include <chrono>
#include <optional>

namespace expc::device {

/// Makes malloc keep what is freed: giving large activations back and faulting them in again costs more than many
/// operators do (1.1 to 3 times a training step). Asks the system for huge pages there too. Call it before large memory
/// is used and while one thread runs. Recorded by describeAllocator.
void keepFreedMemory();
void describeAllocator(llvm::json::Object& environment);

/// Bytes that were resident at most (VmHWM); nothing if /proc does not say.
std::optional<double> residentPeak();

/// When this process began, from /proc with its resolution of 10 ms; now, if that cannot be read.
std::chrono::steady_clock::time_point processStart();

}  // namespace expc::device
