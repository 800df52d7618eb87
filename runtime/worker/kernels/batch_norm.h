#pragma once

// Batch norm in training over NHWC, in fp32 on the CPU. torch's own adds up a channel in fp32 from front to back:
// over 200,000 values its statistics are off by 1e-4, and a training step's gradients by 4 % of their size
// (tests/parity). Here sums are kept in fp64.

#include <ATen/core/Tensor.h>

namespace expc::kernels {

/// True if trainBatchNorm accepts x: fp32 on the CPU, [B, C, H, W] in channels-last order, more than one value per
/// channel (the unbiased variance divides by their number minus one).
bool servesBatchNorm(const at::Tensor& x);

/// at::batch_norm in training mode, with gradients of x, scale and shift. x must satisfy servesBatchNorm; all other
/// tensors are contiguous fp32 of C elements. Writes running_mean and running_var in place: they move by `momentum`
/// towards the batch's mean and unbiased variance. The result does not depend on the number of threads.
at::Tensor trainBatchNorm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                          const at::Tensor& running_mean, const at::Tensor& running_var, double momentum,
                          double epsilon);

}  // namespace expc::kernels
