#pragma once

// The arithmetic of collectives on the host. Unlike kernels, collectives compute real results,
// because programs branch on them.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nullgpu::nccl {

/// Computes out[i] = inputs[0][i] op inputs[1][i] op ..., in this order, so the bits do not depend
/// on which rank computes. Floating-point types of 8 and 16 bits are accumulated in fp32 and
/// rounded once; an average is divided before rounding. `out` may be one of the inputs. `type` and
/// `reduction` are those of Description.
void reduce(uint8_t type, uint8_t reduction, const std::vector<const std::byte*>& inputs, std::byte* out, size_t count);

/// Multiplies `count` values in place by the one at `factor`, which has their type.
void multiply(uint8_t type, const std::byte* factor, std::byte* values, size_t count);

}  // namespace nullgpu::nccl
