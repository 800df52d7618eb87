#pragma once

#include <ATen/core/Tensor.h>

namespace expc::kernels {

/// A convolution without bias and its batch norm. The running statistics are written.
struct ConvNormTensors {
  at::Tensor weight, scale, shift, mean, variance;
};

struct NormOptions {
  double momentum, epsilon;
};

}  // namespace expc::kernels
