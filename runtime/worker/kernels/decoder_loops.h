#pragma once

// Loops over plain memory for all that a Llama decoder computes besides matrix products. One table has a column for the
// CPU, compiled once for each instruction set, and one for CUDA (cuda/), where each loop is one launch. No torch
// here. Tensors are stored in S, arithmetic is in fp32, and each result is rounded once.
//
// Each loop replaces several of torch's operators, each of which would read and write a tensor of its own.
// llama/loops.h decides when a tensor can be given to them.

#include <cstdint>

#include "runtime/worker/kernels/elements.h"
#include "runtime/worker/kernels/loops.h"

namespace expc::kernels {

/// S is float or Bf16, on devices Half as well. A caller may cut rows anywhere, since none depends on another; a loop
/// that adds up over rows says so. All memory is contiguous and row-major.
template <typename S>
struct DecoderLoops {
  const char* name;

  /// RMS norm: y = x inverse scale with inverse = 1 / sqrt(mean(x^2) + epsilon), for x, y [rows][width], scale
  /// [width]. Writes inverse [rows] for the gradient.
  void (*norm)(const S* x, const S* scale, int64_t rows, int64_t width, float epsilon, float* inverse, S* y);
  /// The gradient of that norm. Writes gx unless it is null, and adds the scale's gradient over these rows to
  /// scale_sums [width] unless that is null.
  void (*norm_grad)(const S* x, const S* scale, const float* inverse, const S* g, int64_t rows, int64_t width, S* gx,
                    float* scale_sums);

  /// SwiGLU's product y = gate sigmoid(gate) up, and its gradients, over n values.
  void (*swiglu)(const S* gate, const S* up, int64_t n, S* y);
  void (*swiglu_grad)(const S* gate, const S* up, const S* g, int64_t n, S* g_gate, S* g_up);

  /// Rotary embedding: rotates neighbouring pairs of x [tokens][heads][width] by pairs (cos, sin); sign -1 is the
  /// gradient. The pairs of token i, counted from `first`, lie at rotations [i mod period][width].
  void (*turn)(const S* x, const float* rotations, int64_t first, int64_t period, int64_t tokens, int64_t heads,
               int64_t width, float sign, S* y);

  /// Writes result[row] = log softmax(logits)[target]. With `gradient` the logits are overwritten by the gradient of
  /// -result times the row's weight (1 if `weights` is null), so that no second tensor of that size exists.
  void (*log_probs)(S* logits, const int64_t* targets, const float* weights, int64_t rows, int64_t vocabulary,
                    bool gradient, float* result);

  /// Fake quantisation (llama/fake_quant.h): rounds rows of x to 8 bits around a zero point, or groups of weights to
  /// 4 bits around 0. Writes each row's scale and, unless `inside` is null, whether each value was inside the grid.
  /// Every bit is as single operators over tensors in S give it.
  void (*round_to_int8)(const S* x, int64_t rows, int64_t width, S* y, bool* inside, float* scale);
  void (*round_to_int4)(const S* x, int64_t rows, int64_t width, S* y, bool* inside, float* scale);
  /// The gradient of either rounding: y = (g scale) (1 / scale), or 0 where not inside. y may be g.
  void (*round_grad)(const S* g, const bool* inside, const float* scale, int64_t rows, int64_t width, S* y);
};

/// Element types of matrices, as a value at run time.
enum class Stored { Fp64, Fp32, Bf16, Fp16 };

/// A matrix in NF4 (llama/nf4.h): two codes a byte, `blocks` scales of 64 values each, a factor per 256 scales.
/// Factors and mean have the type that the matrix was made from. The memory belongs to the caller.
struct Nf4Memory {
  const uint8_t* packed;
  const int8_t* scales;
  const void *factors, *mean;
  int64_t blocks;
};

/// The column of a device. Each loop is one launch on the current stream of the current device, over the device's
/// memory. A pointer is null where torch has a fused operator (norm, norm_grad) or where a step needs the loop seldom
/// and torch's few operators do (log_probs).
struct DeviceLoops {
  DecoderLoops<float> fp32;
  DecoderLoops<Bf16> bf16;
  DecoderLoops<Half> fp16;
  /// Writes all values of a matrix, [blocks * 64]: computed in the type `stored` that it was made in, then cast to
  /// `as`.
  void (*expand_nf4)(const Nf4Memory& from, Stored stored, Stored as, void* to);
};

/// The device's loops; null in a program without devices, and before setDeviceLoops().
const DeviceLoops* deviceLoops();
/// Sets the device's loops for the program. Called once, before anything is computed; *loops must live until the end.
void setDeviceLoops(const DeviceLoops* loops);

}  // namespace expc::kernels
