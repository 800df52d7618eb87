#pragma once

// Floating-point operations that training needs, and what a device can do: flops_utilisation.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "runtime/worker/llama/decoder.h"

namespace expc::workload::llm {

/// What a step needs, whoever computes it: two operations for each weight of a product (the head's too, not the
/// embedding's) and token forward; as many back to the input, and as many again to a weight that is trained; attention
/// by the tokens that each token sees, back twice as much. Neither padding, nor what is computed again (checkpointing,
/// NF4, fake quantisation), nor dpo's reference counts.
class NeededFlops {
 public:
  explicit NeededFlops(const llama::Decoder& decoder);
  /// Of `tokens` tokens that see `seen` tokens in all (a row of n tokens: n (n + 1) / 2).
  double of(double tokens, double seen) const { return per_token_ * tokens + per_seen_ * seen; }

 private:
  double per_token_ = 0, per_seen_ = 0;
};

/// One of the matrices that are multiplied to see what a device can do: normally distributed, since one whose elements
/// are alike flips few bits, draws less power, and lets a card run at clocks that no training sees.
at::Tensor matrixOperand(int64_t size, const at::TensorOptions& options);

/// Operations a second that this rank reaches in products of square matrices of a type on its device, with its threads:
/// the best of several within about a tenth of a second. 0 if there is no memory for them. Waits for the device.
double matrixRate(at::ScalarType dtype, at::Device device, const std::function<void()>& synchronize);

}  // namespace expc::workload::llm
