#pragma once

// Weights between tensors and safetensors files.

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

#include "runtime/worker/io/safetensors.h"
#include "runtime/worker/model/mobilenet_v2.h"

namespace expc::model {

/// A copy of one tensor of a file, on the CPU, in the file's type. An error if the file has none of that name.
llvm::Expected<at::Tensor> readTensor(const io::SafeTensors& file, const std::string& name);

/// Copies every tensor of the file into the state's tensor of the same name (casting to its type). An error, with
/// nothing changed, if a name is missing or left over or a shape differs.
llvm::Error loadState(const io::SafeTensors& file, const std::vector<NamedTensor>& state);

/// Writes the state (any device, any layout) in row-major order.
llvm::Error saveState(const std::string& path, const std::vector<NamedTensor>& state);

}  // namespace expc::model
