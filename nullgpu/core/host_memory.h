#pragma once

// Memory of the host that the cards may use without the host's help: page-locked, as CUDA calls it.

#include <driver_types.h>

#include <cstddef>

#include "nullgpu/core/host_ranges.h"

namespace nullgpu {

/// Whole pages that nothing else lies in.
cudaError_t allocateHost(size_t bytes, void** address);
/// Frees host memory. A copy that still waits for it ends the process.
cudaError_t freeHost(void* address);
/// @returns cudaErrorHostMemoryAlreadyRegistered where a part of it is page-locked, cudaErrorInvalidValue where a part
/// of it is not mapped.
cudaError_t registerHost(void* address, size_t bytes);
cudaError_t unregisterHost(void* address);

}  // namespace nullgpu
