#pragma once

// The layers of a block without matrix products: RMS norm, gated product, rotary positions; and activation
// checkpointing. Each is one autograd node that keeps no more than it needs. Arithmetic is in fp32 (fp64 in fp64) and
// rounded once, as in torchtune.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "runtime/data/model/llama.h"

namespace expc::llama {

/// The type in which sums and rotations of tensors of `type` are computed.
inline at::ScalarType accumulateType(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

/// RMS norm: x rsqrt(mean(x^2) + epsilon) scale over the last dimension. The node keeps x and one number per row.
at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& scale, double epsilon);

/// The gated product silu(gate) * up. The node keeps both.
at::Tensor swiGlu(const at::Tensor& gate, const at::Tensor& up);

// Rotary positions (docs/semantics.md §2): elements 2i and 2i + 1 of a head are rotated by position * frequency_i.

/// The frequencies base^(-2i / head width) in fp32, i from 0. With the scaling of Llama 3.1, waves longer than the
/// original context are divided by the factor, shorter ones kept, and those between divided in part.
at::Tensor ropeFrequencies(const Config& config);

/// A table of rotations for all positions of a model. Immutable.
class Rope {
 public:
  /// For positions 0 .. length - 1 of tensors of `dtype`. Angles are fp32 for every type, as torchtune has them; only
  /// their sine and cosine and the rotation itself are in fp64 for fp64.
  Rope(const Config& config, int64_t length, at::ScalarType dtype, at::Device device);

  /// The rotations that turn() takes for positions [S] or [B, S] (int64), or for 0 .. length - 1 if they are
  /// undefined.
  at::Tensor rotations(const at::Tensor& positions, int64_t length) const;

 private:
  at::Tensor table_;  // complex [length, head width / 2]
};

/// x [B, S, heads, head width] with its pairs rotated. The node keeps the rotations only.
at::Tensor turn(const at::Tensor& x, const at::Tensor& rotations);

/// work(x), of which only x is kept: the backward pass calls `work` again (activation checkpointing). `parameters`
/// are the tensors that `work` uses and that may need gradients. `work` must give the same result each time, and
/// whatever it refers to must outlive the graph.
at::Tensor checkpointed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                        std::function<at::Tensor(const at::Tensor&)> work);

}  // namespace expc::llama
