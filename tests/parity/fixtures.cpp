#include "tests/parity/fixtures.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>

#include "runtime/worker/model/state_file.h"
#include "tests/source_dir.h"

namespace expc::parity {
namespace {

std::string pathOf(const std::string& name) { return expc::test::sourceDir() + "/tests/parity/golden/" + name; }

}  // namespace

json::Value readJson(const std::string& name) {
  auto buffer = llvm::MemoryBuffer::getFile(pathOf(name));
  REQUIRE_MESSAGE(buffer, name);
  auto value = json::parse((*buffer)->getBuffer());
  REQUIRE_MESSAGE(value, name);
  return std::move(*value);
}

safetensors::File openTensors(const std::string& name) {
  auto file = safetensors::File::open(pathOf(name));
  REQUIRE_MESSAGE(file, name);
  return std::move(*file);
}

at::Tensor tensorOf(const safetensors::File& file, const std::string& name) {
  const safetensors::TensorInfo* info = file.find(name);
  REQUIRE_MESSAGE(info != nullptr, name);
  return model::tensorOf(*info);
}

std::vector<double> numbers(const json::Array& array) {
  std::vector<double> values;
  for (const auto& value : array) values.push_back(value.getAsNumber().value());
  return values;
}

std::vector<int64_t> integers(const json::Array& array) {
  std::vector<int64_t> values;
  for (const auto& value : array) values.push_back(value.getAsInteger().value());
  return values;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return (a.detach().to(at::kDouble) - b.detach().to(at::kDouble)).abs().max().item<double>();
}

double relativeDifference(const at::Tensor& a, const at::Tensor& b) {
  return difference(a, b) / std::max(b.detach().abs().max().item<double>(), 1e-30);
}

}  // namespace expc::parity
