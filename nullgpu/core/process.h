#pragma once

// Small helpers about processes, threads and pages.

#include <cstddef>
#include <cstdint>
#include <functional>

namespace nullgpu {

/// The start time of a process, in clock ticks since the machine's start (proc(5), field 22). With
/// the pid it identifies a process for good, as pids are reused. 0 if there is none, or only a
/// zombie.
uint64_t startOf(int pid);

/// Starts a detached thread of ours. It blocks all signals but those of its own faults, so the
/// program's handlers never run on it.
void startThread(std::function<void()> body);

/// Bytes of a page, fixed on x86-64.
inline constexpr size_t kPage = 4096;
/// `bytes` rounded up to whole pages.
constexpr size_t inPages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace nullgpu
