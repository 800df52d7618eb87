#pragma once

// The loops of the depthwise convolution over plain memory, one table for each instruction set. No torch here.

#include <cstdint>

#include "runtime/worker/kernels/loops.h"

namespace expc::kernels {

/// Sizes of a 3 x 3 depthwise convolution with padding 1: out = (in - 1) / stride + 1 in both directions.
struct DepthwiseShape {
  int64_t batch, channels, height, width, out_height, out_width, stride;
};

/// x and y are the input and output, gx and gy their gradients. [begin, end) is a range of rows of what is written
/// (batch x height) for NHWC, of planes (batch x channels) for NCHW, and of channels for weight gradients. Each
/// element's sum has a fixed order, so a caller may cut ranges anywhere. `scratch` has scratchSize() elements; calls
/// that run at the same time need one each.
template <typename T>
struct DepthwiseLoops {
  const char* name;
  /// y from x; weight is [9][channels].
  void (*forward_nhwc)(const DepthwiseShape&, const T* x, const T* weight, T* y, int64_t begin, int64_t end);
  /// gx from gy for stride 2. With stride 1 the input's gradient is forward_nhwc of gy with each kernel rotated by
  /// 180 degrees.
  void (*input_grad_nhwc)(const DepthwiseShape&, const T* gy, const T* weight, T* gx, int64_t begin, int64_t end);
  /// Overwrites gw, [channels][9].
  void (*weight_grad_nhwc)(const DepthwiseShape&, const T* x, const T* gy, T* gw, int64_t begin, int64_t end);
  /// The NCHW loops take weights as [channels][9], for any stride; gw is overwritten.
  void (*forward_nchw)(const DepthwiseShape&, const T* x, const T* weight, T* y, T* scratch, int64_t begin,
                       int64_t end);
  void (*input_grad_nchw)(const DepthwiseShape&, const T* gy, const T* weight, T* gx, T* scratch, int64_t begin,
                          int64_t end);
  void (*weight_grad_nchw)(const DepthwiseShape&, const T* x, const T* gy, T* gw, T* scratch, int64_t begin,
                           int64_t end);
};

/// Elements of scratch memory that one call of an NCHW loop needs, for every instruction set.
int64_t scratchSize(const DepthwiseShape& shape);

}  // namespace expc::kernels
