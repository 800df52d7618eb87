#pragma once

// Weights between tensors and safetensors files.

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/model/safetensors.h"
#include "runtime/worker/model/named_tensor.h"

namespace expc::model {

/// A copy of a tensor of a file, on the CPU, in the file's type.
at::Tensor tensorOf(const safetensors::TensorInfo& info);

/// Copies every tensor of the file into the state's tensor of the same name. Floating-point types are cast to each
/// other, whole-number types to each other, neither to the other. An error, with nothing changed, that lists the names
/// that are missing or left over and the tensors whose shape or type does not fit.
Error loadState(const safetensors::File& file, const std::vector<NamedTensor>& state);

/// A tensor's entry `index` of `count` along its first dimension, without a copy; the tensor itself where that
/// dimension is not `count`.
safetensors::TensorInfo entryOf(const safetensors::TensorInfo& info, int64_t index, int64_t count);

/// loadState of a file whose tensors have one dimension more, of `count`, in front: takes entry `index` of each.
Error loadEntries(const safetensors::File& file, int64_t index, int64_t count, const std::vector<NamedTensor>& state);

/// The first few of a list, and how many more there are.
std::string listed(const std::vector<std::string>& names);
/// Names by what is wrong with them: "2 missing: a, b; 1 of another shape: c". "" where there are none.
std::string faultsText(const std::vector<std::pair<const char*, std::vector<std::string>>>& faults);

/// Makes a folder for such files, and those above it, unless it is there.
Error makeFolder(const std::string& path);
/// Writes the state (any device, any layout) in row-major order; returns the file's BLAKE3 digest.
Expected<std::string> saveState(const std::string& path, const std::vector<NamedTensor>& state);

}  // namespace expc::model
