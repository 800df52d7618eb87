#pragma once

// Depthwise 3 x 3 convolution on the CPU, for the cases that torch 2.11 computes slowly: in fp64 it has no fast path
// (16 to 30 ms where this takes 0.2 to 2), for the bf16 input gradient with stride 2 it runs a reference loop (20 ms
// instead of 0.3), and the weight gradient of planes of one pixel takes it 5 ms.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::kernels {

/// True if depthwise3x3 accepts these tensors: x [B, C, H, W] in fp64, fp32 or bf16 on the CPU, weight [C, 1, 3, 3]
/// of x's type (or fp32 with a bf16 x, as under autocast), groups C, padding 1, stride 1 or 2.
bool servesDepthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride, int64_t padding, int64_t groups);

/// True if depthwise3x3 is faster than torch for an x that it accepts, forward and backward together. The cases were
/// measured (docs/layers/workloads.md).
bool fasterDepthwise3x3(const at::Tensor& x, int64_t stride);

/// at::conv2d(x, weight, {}, stride, 1, 1, C) with gradients of both, for tensors that servesDepthwise3x3 accepts. A
/// contiguous or channels-last x is used as it lies, any other one is copied. The result and the input's gradient
/// have x's layout and type, the weight's gradient has the weight's type. Sums run in a fixed order, so the result
/// does not depend on the number of threads. bf16 is summed in fp32; sums over a whole batch go on in fp64.
at::Tensor depthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride);

}  // namespace expc::kernels
