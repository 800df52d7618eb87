#pragma once

// Parameters of a convolution with its batch norm, as the fused blocks take them.

#include <ATen/core/Tensor.h>

namespace expc::kernels {

/// A convolution without bias and the batch norm behind it. `mean` and `variance` are running statistics, which a
/// training step writes in place.
struct ConvNormTensors {
  at::Tensor weight, scale, shift, mean, variance;
};

/// `momentum` is the weight of the new batch in the running statistics (torch's convention); `epsilon` is added to
/// variances.
struct NormOptions {
  double momentum, epsilon;
};

}  // namespace expc::kernels
