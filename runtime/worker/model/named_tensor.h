#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace expc::model {

/// A tensor under its name in a state dict.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

inline std::vector<at::Tensor> tensorsOf(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& entry : named) tensors.push_back(entry.tensor);
  return tensors;
}

}  // namespace expc::model
