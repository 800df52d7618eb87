#pragma once

#include <ATen/core/Tensor.h>
#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/model/safetensors.h"

namespace expc::parity {

/// A file of tests/parity/golden; the test ends if it cannot be read.
json::Value readJson(const std::string& name);
safetensors::File openTensors(const std::string& name);
at::Tensor tensorOf(const safetensors::File& file, const std::string& name);

std::vector<double> numbers(const json::Array& array);
std::vector<int64_t> integers(const json::Array& array);

/// Largest |a - b|, in double; shapes must agree.
double difference(const at::Tensor& a, const at::Tensor& b);
/// The same divided by the largest |b|.
double relativeDifference(const at::Tensor& a, const at::Tensor& b);

}  // namespace expc::parity
