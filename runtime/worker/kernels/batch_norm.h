#pragma once

// Batch norm over NHWC in fp32 on the CPU, in training. torch's own sums a channel in fp32 from front to back: its
// statistics are off by 1e-4 over 200,000 values, and a training step's gradients by 4 % of their size (tests/parity).
// Here sums are kept in fp64.

#include <ATen/core/Tensor.h>

namespace expc::kernels {

/// True if trainBatchNorm serves x: fp32 on the CPU, [B, C, H, W] with more than one value a channel, in channels-last
/// order.
bool servesBatchNorm(const at::Tensor& x);

/// at::batch_norm in training mode for an x that servesBatchNorm accepts, with gradients of x, scale and shift. All
/// others are fp32 of C elements. running_mean and running_var move by `momentum` towards the batch's mean and unbiased
/// variance. The result does not depend on the number of threads.
at::Tensor trainBatchNorm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                          const at::Tensor& running_mean, const at::Tensor& running_var, double momentum,
                          double epsilon);

}  // namespace expc::kernels
