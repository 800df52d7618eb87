#pragma once

// Depthwise 3 x 3 convolution on the CPU. torch 2.11 has no fast path for it in fp64 (16-30 ms where this takes 0.2-2),
// runs a reference loop for the bf16 input gradient with stride 2 (20 ms instead of 0.3), and needs 5 ms for the weight
// gradient of planes of one pixel.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::kernels {

/// True if depthwise3x3 below serves these tensors: fp64, fp32 or bf16 on the CPU (with bf16 the weight may be fp32, as
/// under autocast), weight [C, 1, 3, 3], groups C, padding 1, stride 1 or 2.
bool servesDepthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride, int64_t padding, int64_t groups);

/// True if it is faster than torch's for an x that it serves, forward and backward together (measured,
/// docs/layers/workloads.md).
bool fasterDepthwise3x3(const at::Tensor& x, int64_t stride);

/// at::conv2d(x, weight, {}, stride, 1, 1, C) for tensors that servesDepthwise3x3 accepts, with gradients of both. x
/// [B, C, H, W] contiguous or channels-last (else it is made contiguous); the result and the input's gradient have x's
/// layout and type, the weight's gradient its own. Sums run in a fixed order: the result does not depend on the number
/// of threads. bf16 is summed in fp32, and long sums in fp64.
at::Tensor depthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride);

}  // namespace expc::kernels
