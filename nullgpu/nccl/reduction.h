#pragma once

// The arithmetic of collectives.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nullgpu::nccl {

/// out[i] = inputs[0][i] op inputs[1][i] op ...: in this order, so that the bits are the same wherever it is done.
/// Types of 8 and 16 bits with a floating point are added up in fp32 and rounded once. `out` may be one of the inputs.
/// `type` and `reduction` as in Description.
void reduce(uint8_t type, uint8_t reduction, const std::vector<const std::byte*>& inputs, std::byte* out, size_t count);

/// Multiplies `count` values by the one at `factor`, which has their type.
void multiply(uint8_t type, const std::byte* factor, std::byte* values, size_t count);

}  // namespace nullgpu::nccl
