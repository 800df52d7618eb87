#pragma once

// Rotary positions (docs/semantics.md §2): elements 2i and 2i + 1 of a head turn by position * frequency_i.

#include <ATen/core/Tensor.h>

#include "runtime/worker/llama/config.h"

namespace expc::llama {

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

}  // namespace expc::llama
