#include "runtime/worker/workload/llm/flops.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace expc::workload::llm {
namespace {

TEST_CASE("what a device can do is measured with numbers as training has them") {
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    CAPTURE(type);
    const at::Tensor a = matrixOperand(64, at::TensorOptions(type)), b = matrixOperand(64, at::TensorOptions(type));
    CHECK((a.scalar_type() == type));
    CHECK(std::abs(a.to(at::kDouble).std().item<double>() - 1) < 0.1);
    CHECK(std::abs(a.to(at::kDouble).mean().item<double>()) < 0.1);
    CHECK_FALSE(at::equal(a, b));
  }
}

TEST_CASE("the rate is that of products that were made") {
  int waited = 0;
  CHECK(matrixRate(at::kFloat, at::kCPU, [&] { ++waited; }) > 0);
  CHECK(waited >= 3);  // the first, uncounted, and two more at least
}

}  // namespace
}  // namespace expc::workload::llm
