#pragma once

// MobileNetV2's blocks in training on the CPU over NHWC, each block as one autograd node: convolutions, batch norms,
// ReLU6 and the skip. Only the raw outputs of convolutions are kept. Each pass applies batch norm and ReLU6 again as
// it reads them, so a block moves a third of the bytes that single operators do. Statistics are summed while outputs
// are written. docs/layers/workloads.md shows the passes.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/worker/kernels/conv_norm.h"

namespace expc::kernels {

/// The type in which tensors between convolutions are stored: `type` itself, or autocast's type if it is on for the
/// CPU.
at::ScalarType storedType(at::ScalarType type);

/// True if the functions below accept x [B, C, H, W] for a network whose parameters have `type`: on the CPU,
/// channels-last, in fp32 or fp64, or in bf16 under autocast (where x may still be fp32).
bool servesBlocks(const at::Tensor& x, at::ScalarType type);

/// Expansion 1 x 1, ReLU6, depthwise 3 x 3 with `stride`, ReLU6, projection 1 x 1; x is added if `skip`, which needs
/// stride 1 and equal shapes. Each convolution has a batch norm in training mode, whose running statistics are
/// written. Has gradients of x, weights, scales and shifts. The number of threads changes no bit.
at::Tensor invertedResidual(const at::Tensor& x, const ConvNormTensors& expand, const ConvNormTensors& depthwise,
                            const ConvNormTensors& project, int64_t stride, bool skip, const NormOptions& options);

/// A block with the network's first convolution (3 x 3, stride 2, padding 1) in the place of the expansion, stride 1
/// and no skip: the network's first two layers. images are [B, 3, H, W] and get no gradient.
at::Tensor firstBlocks(const at::Tensor& images, const ConvNormTensors& first, const ConvNormTensors& depthwise,
                       const ConvNormTensors& project, const NormOptions& options);

/// The network's last convolution 1 x 1 with batch norm, ReLU6 and the mean over all pixels: [B, channels].
at::Tensor lastPooled(const at::Tensor& x, const ConvNormTensors& last, const NormOptions& options);

}  // namespace expc::kernels
