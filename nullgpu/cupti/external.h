#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>

namespace nullgpu::cupti {

/// The numbers that a profiler has given to what this thread is about to call: the tops of its stacks, one for each
/// kind.
void eachExternal(const std::function<void(CUpti_ExternalCorrelationKind, uint64_t)>& take);

}  // namespace nullgpu::cupti
