#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace expc::model {

/// A tensor under its name in a state dict.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

}  // namespace expc::model
