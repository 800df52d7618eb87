#pragma once

// The loops of the depthwise convolution over plain memory, compiled once for each instruction set. No torch here.

#include <cstdint>

#include "runtime/worker/kernels/loops.h"

namespace expc::kernels {

/// 3 x 3, padding 1: out = (in - 1) / stride + 1 each way.
struct DepthwiseShape {
  int64_t batch, channels, height, width, out_height, out_width, stride;
};

/// x and y are inputs and outputs (or their gradients gx, gy). For NHWC a range is of rows (batch x height of what is
/// written), for NCHW of planes (batch x channels), for weight gradients of channels. Each element's sum has a fixed
/// order, so ranges may be cut anywhere. `scratch` is scratchSize() elements for each call that runs at the same time.
template <typename T>
struct DepthwiseLoops {
  const char* name;
  /// weight: [9][channels]
  void (*forward_nhwc)(const DepthwiseShape&, const T* x, const T* weight, T* y, int64_t begin, int64_t end);
  /// Stride 2 only: with stride 1 the input's gradient is forward_nhwc of gy with the weights turned around.
  void (*input_grad_nhwc)(const DepthwiseShape&, const T* gy, const T* weight, T* gx, int64_t begin, int64_t end);
  /// gw: [channels][9], overwritten.
  void (*weight_grad_nhwc)(const DepthwiseShape&, const T* x, const T* gy, T* gw, int64_t begin, int64_t end);
  /// weight: [channels][9]
  void (*forward_nchw)(const DepthwiseShape&, const T* x, const T* weight, T* y, T* scratch, int64_t begin,
                       int64_t end);
  void (*input_grad_nchw)(const DepthwiseShape&, const T* gy, const T* weight, T* gx, T* scratch, int64_t begin,
                          int64_t end);
  void (*weight_grad_nchw)(const DepthwiseShape&, const T* x, const T* gy, T* gw, T* scratch, int64_t begin,
                           int64_t end);
};

/// Elements of scratch memory that the NCHW loops need.
int64_t scratchSize(const DepthwiseShape& shape);

}  // namespace expc::kernels
