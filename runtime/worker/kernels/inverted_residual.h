#pragma once

// MobileNetV2's blocks in training on the CPU over NHWC, each as one autograd node: convolutions, batch norms, ReLU6
// and the skip. Only the convolutions' raw outputs are kept; batch norm and ReLU6 are applied again by whoever reads
// them, so a block moves a third of the bytes that single operators do. Statistics are summed while outputs are
// written.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/worker/kernels/conv_norm.h"

namespace expc::kernels {

/// What is stored between convolutions: `type` itself, or bf16 where autocast asks for it.
at::ScalarType storedType(at::ScalarType type);

/// True if the functions below serve x [B, C, H, W] with a network whose parameters have `type`: on the CPU, in
/// channels-last order, fp32 or fp64, or bf16 under autocast (where x may be fp32 still).
bool servesBlocks(const at::Tensor& x, at::ScalarType type);

/// Expansion 1 x 1, ReLU6, depthwise 3 x 3 with `stride`, ReLU6, projection 1 x 1; x is added if `skip`. Each with
/// batch norm in training mode. Gradients of x, weights, scales and shifts. The number of threads changes no bit.
at::Tensor invertedResidual(const at::Tensor& x, const ConvNormTensors& expand, const ConvNormTensors& depthwise,
                            const ConvNormTensors& project, int64_t stride, bool skip, const NormOptions& options);

/// The network's first convolution (3 x 3, stride 2, padding 1) in the expansion's place; stride 1, no skip. images:
/// [B, 3, H, W]; no gradient of them.
at::Tensor firstBlocks(const at::Tensor& images, const ConvNormTensors& first, const ConvNormTensors& depthwise,
                       const ConvNormTensors& project, const NormOptions& options);

/// The last convolution 1 x 1, batch norm, ReLU6 and the mean over all pixels: [B, channels].
at::Tensor lastPooled(const at::Tensor& x, const ConvNormTensors& last, const NormOptions& options);

}  // namespace expc::kernels
