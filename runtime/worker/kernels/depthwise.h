#pragma once

// Depthwise 3 x 3 convolution in double precision on the CPU, where torch falls back to a slow path (27-40 ms against
// 2-3).

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::kernels {

/// True if depthwise3x3 below serves these tensors: fp64 on the CPU (which autocast leaves alone), weight [C, 1, 3, 3],
/// groups C, padding 1, stride 1 or 2.
bool servesDepthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride, int64_t padding, int64_t groups);

/// at::conv2d(x, weight, {}, stride, 1, 1, C) for tensors that servesDepthwise3x3 accepts, with gradients of both. x
/// [B, C, H, W] contiguous or channels-last (else it is made contiguous); the result and the input's gradient have x's
/// layout. Sums run in a fixed order: the result does not depend on the number of threads.
at::Tensor depthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride);

}  // namespace expc::kernels
