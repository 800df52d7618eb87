#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace nullgpu {

/// When a process began, in ticks since the machine's start: with its number it names a process for good. 0 where there
/// is none, or only what is left of one that ended.
uint64_t startOf(int pid);

/// Starts a thread of ours, which runs none of the program's signal handlers but those of its own faults.
void startThread(std::function<void()> body);

/// Of memory as the system gives it.
inline constexpr size_t kPage = 4096;
constexpr size_t inPages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace nullgpu
