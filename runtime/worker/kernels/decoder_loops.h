#pragma once

// The loops of a Llama decoder besides products over plain memory, compiled once for each instruction set. No torch
// here. Tensors are stored in S, arithmetic is in fp32, and each result is rounded once.

#include <cstdint>

#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {

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

  /// The least and the largest value of each row of x [rows][width].
  void (*ranges)(const S* x, int64_t rows, int64_t width, S* low, S* high);
  /// x rounded to steps of each row: n = round(x inverse) + zero cut off at least and most, y = (n - zero) scale, and
  /// whether nothing was cut off. No two of these operations are fused: the bits are those of single operators.
  void (*round)(const S* x, int64_t rows, int64_t width, const float* inverse, const float* zero, const float* scale,
                float least, float most, S* y, bool* inside);
  /// y = (g scale) inverse, 0 where not inside; y may be g.
  void (*round_grad)(const S* g, const bool* inside, int64_t rows, int64_t width, const float* inverse,
                     const float* scale, S* y);
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
