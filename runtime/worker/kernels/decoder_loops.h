#pragma once

// The loops of a Llama decoder besides products over plain memory: one table with a column for the CPU, compiled once
// for each instruction set, and one for CUDA (cuda/), where each is one launch. No torch here. Tensors are stored in S,
// arithmetic is in fp32, and each result is rounded once.

#include <cstdint>
#include <type_traits>

#include "runtime/worker/kernels/elements.h"
#include "runtime/worker/kernels/loops.h"

namespace expc::kernels {

/// S: float or Bf16, on devices Half as well. Rows may be cut anywhere: none depends on another, but for sums that say
/// so.
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

  /// Pairs of x [tokens][heads][width] turned by pairs (cos, sin), backward with sign -1. Those of token i, counted
  /// from `first`, lie at rotations [i mod period][width].
  void (*turn)(const S* x, const float* rotations, int64_t first, int64_t period, int64_t tokens, int64_t heads,
               int64_t width, float sign, S* y);

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

/// Types that matrices are stored in.
enum class Stored { Fp64, Fp32, Bf16, Fp16 };

/// A matrix in NF4 (llama/nf4.h), whose factors and mean are in the type that it was made from.
struct Nf4Memory {
  const uint8_t* packed;
  const int8_t* scales;
  const void *factors, *mean;
  int64_t blocks;
};

/// The column of a device: each loop is one launch on the current queue of the current device, over the device's
/// memory. Null where torch has it fused (norm, norm_grad) or in few operators that a step asks for seldom (log_probs).
struct DeviceLoops {
  DecoderLoops<float> fp32;
  DecoderLoops<Bf16> bf16;
  DecoderLoops<Half> fp16;
  /// All values of a matrix, in the type it was made in and then cast: [blocks * 64].
  void (*expand_nf4)(const Nf4Memory& from, Stored stored, Stored as, void* to);

  template <typename S>
  const DecoderLoops<S>& of() const {
    if constexpr (std::is_same_v<S, float>)
      return fp32;
    else if constexpr (std::is_same_v<S, Bf16>)
      return bf16;
    else
      return fp16;
  }
};

/// Null in a program without devices, and until setDeviceLoops().
const DeviceLoops* deviceLoops();
/// Called once, before anything is computed; what is given stays there.
void setDeviceLoops(const DeviceLoops* loops);

}  // namespace expc::kernels
