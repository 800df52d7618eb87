#pragma once

// The parts of a block without products of matrices. Each is one node of the graph that keeps no more than it needs;
// inside, the arithmetic is in fp32 (fp64 in fp64) and rounded once, as torchtune has it.

#include <ATen/core/Tensor.h>

namespace expc::llama {

/// x rsqrt(mean(x^2) + epsilon) scale over the last dimension. Keeps x and a number for each row.
at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& scale, double epsilon);

/// silu(gate) * up. Keeps both.
at::Tensor swiGlu(const at::Tensor& gate, const at::Tensor& up);

/// The type that sums and rotations of `type` are computed in.
inline at::ScalarType accumulateType(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

}  // namespace expc::llama
