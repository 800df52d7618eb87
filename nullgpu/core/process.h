#pragma once

#include <cstdint>

namespace nullgpu {

/// When a process began, in ticks since the machine's start: with its number it names a process for good. 0 where there
/// is none, or only what is left of one that ended.
uint64_t startOf(int pid);

}  // namespace nullgpu
