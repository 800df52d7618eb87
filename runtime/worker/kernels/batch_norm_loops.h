#pragma once

// The loops of batch norm over plain memory in NHWC, one table for each instruction set. No torch here.

#include <cstdint>

#include "runtime/worker/kernels/loops.h"

namespace expc::kernels {

/// x, y, g (the gradient of y) and gx (that of x) are [pixels][channels]; other arrays are [channels] or `sums`
/// [2][channels]. A caller may cut the pixels anywhere. Sums are overwritten, so each piece needs its own.
struct BatchNormLoops {
  const char* name;
  /// Writes sums[c] = sum of x and sums[channels + c] = sum of x squared.
  void (*sums)(const float* x, int64_t pixels, int64_t channels, double* sums);
  /// y = (x - mean) factor + shift
  void (*apply)(const float* x, int64_t pixels, int64_t channels, const float* mean, const float* factor,
                const float* shift, float* y);
  /// Writes sums[c] = sum of g and sums[channels + c] = sum of g (x - mean).
  void (*grad_sums)(const float* x, const float* g, int64_t pixels, int64_t channels, const float* mean, double* sums);
  /// gx = factor (g - from_g - (x - mean) from_x)
  void (*grad_apply)(const float* x, const float* g, int64_t pixels, int64_t channels, const float* mean,
                     const float* factor, const float* from_g, const float* from_x, float* gx);
};

}  // namespace expc::kernels
