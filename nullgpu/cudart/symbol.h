#pragma once

#include <driver_types.h>

#include <cstddef>

namespace nullgpu {

/// Where a variable of the program's CUDA code lies on the current card, `offset` bytes into it. Its memory is taken
/// when it is asked for first.
/// @returns cudaErrorInvalidSymbol for what was never registered, cudaErrorInvalidValue where `bytes` reach beyond it.
cudaError_t addressOfSymbol(const void* symbol, size_t offset, size_t bytes, void** address);

}  // namespace nullgpu
