#pragma once

// The loops of a Llama decoder besides products over plain memory, compiled once for each instruction set. No torch
// here. Tensors are stored in S, arithmetic is in fp32, and each result is rounded once.

#include <cstdint>

#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {

// torchao's, of fake quantisation.
constexpr float kLeastInt8Scale = 0x1p-23F;
constexpr float kInt4Steps = 7.5F;  // half the range, not the largest value: a group's maximum lies on a tie

/// S: float or Bf16. Rows may be cut anywhere: none depends on another, but for sums that say so.
template <typename S>
struct DecoderLoops {
  const char* name;

  /// y = x inverse scale, inverse = 1 / sqrt(mean(x^2) + epsilon), for x, y [rows][width].
  void (*norm)(const S* x, const S* scale, int64_t rows, int64_t width, float epsilon, float* inverse, S* y);
  /// The gradient of that norm: of x, unless gx is null, and added to scale_sums [width], unless null.
  void (*norm_grad)(const S* x, const S* scale, const float* inverse, const S* g, int64_t rows, int64_t width, S* gx,
                    float* scale_sums);

  /// y = gate sigmoid(gate) up
  void (*swiglu)(const S* gate, const S* up, int64_t n, S* y);
  void (*swiglu_grad)(const S* gate, const S* up, const S* g, int64_t n, S* g_gate, S* g_up);

  /// Pairs of x [tokens][heads][width] turned by the pairs (cos, sin) of rotations [tokens][width], backward with sign
  /// -1.
  void (*turn)(const S* x, const float* rotations, int64_t tokens, int64_t heads, int64_t width, float sign, S* y);

  /// result = log softmax(logits)[target] of each row; where `gradient`, the logits become the gradient of -result
  /// times the row's weight (1 without weights).
  void (*log_probs)(S* logits, const int64_t* targets, const float* weights, int64_t rows, int64_t vocabulary,
                    bool gradient, float* result);

  /// Fake quantisation (llama/fake_quant.h): rows of x rounded to 8 bits around a zero point, groups of weights to 4
  /// bits around 0. Gives the scale of each row, and for each value, unless `inside` is null, whether it was not cut
  /// off. Bit for bit what single operators over tensors in S give.
  void (*round_to_int8)(const S* x, int64_t rows, int64_t width, S* y, bool* inside, float* scale);
  void (*round_to_int4)(const S* x, int64_t rows, int64_t width, S* y, bool* inside, float* scale);
  /// y = (g scale) (1 / scale), 0 where not inside; y may be g.
  void (*round_grad)(const S* g, const bool* inside, const float* scale, int64_t rows, int64_t width, S* y);
};

/// The best loops for this processor, or those chosen.
template <typename S>
const DecoderLoops<S>& decoderLoops();
/// All that this processor runs, for tests; the last is the best. Ends with null.
template <typename S>
const DecoderLoops<S>* const* allDecoderLoops();
/// For tests; null goes back to the best.
template <typename S>
void chooseDecoderLoops(const DecoderLoops<S>* loops);

}  // namespace expc::kernels
