#pragma once

// Quantisation-aware training: the rounding to 8-bit activations and 4-bit weights as torchao's
// Int8DynActInt4WeightQATQuantizer does it (docs/semantics.md §6), and the conversion to 4-bit weights afterwards.
// Values stay in floating point; kernels/elements.h has the arithmetic of one value.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace expc::llama {

/// x rounded to int8, with a scale and a zero point for each token (the last dimension), found anew in each call. The
/// gradient passes through the rounding unchanged, except that clamped values get none.
at::Tensor fakeQuantActivation(const at::Tensor& x);

/// w [out, in] rounded to int4 with a scale for each `group` values along `in`. The gradient is as above.
at::Tensor fakeQuantWeight(const at::Tensor& w, int64_t group);

/// Whether rounded copies are kept until the backward pass. torchtune's recipes keep them, which costs as much memory
/// as the weight and a byte per value; making them again costs time.
enum class QuantCopies { Recomputed, Kept };

/// fakeQuantActivation(x) fakeQuantWeight(W_i)^T for x [rows, in], as one node, so that x is rounded once.
std::vector<at::Tensor> fakeQuantProducts(const at::Tensor& x, const std::vector<at::Tensor>& weights, int64_t group,
                                          QuantCopies copies);

/// A weight converted to 4 bits: whole numbers -8 .. 7 stored in a byte each, and one fp32 scale for each group.
struct Int4Weight {
  at::Tensor values;  // int8 [out, in]
  at::Tensor scales;  // fp32 [out, in / group]
  bool defined() const { return values.defined(); }
};
/// Converts a weight [out, in]; `group` must divide `in`.
Int4Weight convertToInt4(const at::Tensor& w, int64_t group);

/// x times a converted weight. x is rounded as in training, so the result has the bits of fakeQuantProducts. No
/// gradients.
at::Tensor int4Product(const at::Tensor& x, const Int4Weight& weight);

}  // namespace expc::llama
