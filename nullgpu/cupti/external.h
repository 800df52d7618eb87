#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>

namespace nullgpu::cupti {

/// Numbers that a profiler gives to what this thread is about to call, a stack for each kind.
CUptiResult pushExternal(CUpti_ExternalCorrelationKind kind, uint64_t id);
/// The number that was on top goes into `*id`, if that is not null.
CUptiResult popExternal(CUpti_ExternalCorrelationKind kind, uint64_t* id);

/// The tops of this thread's stacks.
void eachExternal(const std::function<void(CUpti_ExternalCorrelationKind, uint64_t)>& take);

}  // namespace nullgpu::cupti
