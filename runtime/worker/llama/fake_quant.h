#pragma once

// Training with the rounding of 8-bit activations and 4-bit weights, as torchao's Int8DynActInt4WeightQATQuantizer
// (docs/semantics.md §6), and the conversion to 4-bit weights after it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace expc::llama {

/// x rounded to int8 with a scale and a zero point for each token (the last dimension) of this call. The gradient goes
/// straight through the rounding and stops where a value was cut off.
at::Tensor fakeQuantActivation(const at::Tensor& x);

/// w [out, in] rounded to int4 with a scale for each `group` values along `in`. The gradient as above.
at::Tensor fakeQuantWeight(const at::Tensor& w, int64_t group);

/// What becomes of the rounded copies until the backward pass: torchtune's recipes keep them, a weight's size and a
/// byte for each value; made again they cost time instead.
enum class QuantCopies { Recomputed, Kept };

/// fakeQuantActivation(x) fakeQuantWeight(W_i)^T for x [rows, in]: one node, x is rounded once.
std::vector<at::Tensor> fakeQuantProducts(const at::Tensor& x, const std::vector<at::Tensor>& weights, int64_t group,
                                          QuantCopies copies);

/// A weight in 4 bits: values -8 .. 7 stored in bytes, one fp32 scale for each group.
struct Int4Weight {
  at::Tensor values;  // int8 [out, in]
  at::Tensor scales;  // fp32 [out, in / group]
  bool defined() const { return values.defined(); }
};
Int4Weight convertToInt4(const at::Tensor& w, int64_t group);

/// Product with a converted weight; x is rounded as in training, so the result is bit for bit that of
/// fakeQuantProducts. No gradients.
at::Tensor int4Product(const at::Tensor& x, const Int4Weight& weight);

}  // namespace expc::llama
