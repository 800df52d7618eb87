#pragma once

// Page-locked memory of the host, which cards may read and write without the host's help. Nothing
// is locked here; the ranges are only entered in a table (host_ranges.h), which decides how copies
// behave.

#include <driver_types.h>

#include <cstddef>

#include "nullgpu/core/host_ranges.h"

namespace nullgpu {

/// Allocates whole pages, so that nothing else shares a page that a guard protects. 0 bytes give
/// null.
/// @returns cudaErrorMemoryAllocation if the system has none
cudaError_t allocateHost(size_t bytes, void** address);
/// Frees memory of allocateHost(); null is ignored. Ends the process if a copy still waits for it.
/// @returns cudaErrorInvalidValue for any other address
cudaError_t freeHost(void* address);
/// Enters the caller's own memory as page-locked; it stays the caller's.
/// @returns cudaErrorHostMemoryAlreadyRegistered if a part is page-locked already,
/// cudaErrorInvalidValue if a part is not mapped
cudaError_t registerHost(void* address, size_t bytes);
/// Takes such a range out again. Ends the process if a copy still waits for it.
/// @returns cudaErrorHostMemoryNotRegistered if no registered range begins there
cudaError_t unregisterHost(void* address);

}  // namespace nullgpu
