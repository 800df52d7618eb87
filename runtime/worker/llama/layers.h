#pragma once

// The parts of a block without products of matrices. Each is one node of the graph that keeps no more than it needs;
// inside, the arithmetic is in fp32 (fp64 in fp64) and rounded once, as torchtune has it.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "runtime/data/llama/config.h"

namespace expc::llama {

/// The type that sums and rotations of `type` are computed in.
inline at::ScalarType accumulateType(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

/// x rsqrt(mean(x^2) + epsilon) scale over the last dimension. Keeps x and a number for each row.
at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& scale, double epsilon);

/// silu(gate) * up. Keeps both.
at::Tensor swiGlu(const at::Tensor& gate, const at::Tensor& up);

// Rotary positions (docs/semantics.md §2): elements 2i and 2i + 1 of a head turn by position * frequency_i.

/// base^(-2i / head width) in fp32, i from 0, stretched as the configuration says (Llama 3.1: waves longer than the
/// original context by the factor, those between by a part of it).
at::Tensor ropeFrequencies(const Config& config);

class Rope {
 public:
  /// For positions 0 .. length - 1 of tensors of `dtype`. Angles are fp32 in all types; only their sine and cosine, and
  /// the turn itself, are in fp64 for fp64.
  Rope(const Config& config, int64_t length, at::ScalarType dtype, at::Device device);

  /// What turn() needs for positions [S] or [B, S]; for positions 0 .. S - 1 with `positions` undefined.
  at::Tensor rotations(const at::Tensor& positions, int64_t length) const;

 private:
  at::Tensor table_;  // complex [length, head width / 2]
};

/// Turns x [B, S, heads, head width].
at::Tensor turn(const at::Tensor& x, const at::Tensor& rotations);

/// work(x), of which nothing is kept but x: the backward pass calls `work` again. `parameters` are those that `work`
/// uses and that may need gradients. `work` must give the same result each time and outlive the graph.
at::Tensor checkpointed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                        std::function<at::Tensor(const at::Tensor&)> work);

}  // namespace expc::llama
