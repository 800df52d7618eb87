#include "runtime/worker/model/precision.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <limits>
#include <utility>

using namespace expc::precision;

TEST_CASE("autocast computes in its type and ends with its scope") {
  auto x = at::ones({2, 3}), w = at::ones({4, 3});
  {
    Autocast autocast(at::kCPU, autocastType(Precision::Bf16));
    CHECK((at::linear(x, w).scalar_type() == at::kBFloat16));
    {
      Autocast inner(at::kCPU, autocastType(Precision::Fp32));  // nothing to do
      CHECK((at::linear(x, w).scalar_type() == at::kBFloat16));
    }
    CHECK((at::linear(x, w).scalar_type() == at::kBFloat16));
  }
  CHECK((at::linear(x, w).scalar_type() == at::kFloat));
  CHECK((weightType(Precision::Fp64) == at::kDouble));
  CHECK((weightType(Precision::Bf16) == at::kFloat));
}

TEST_CASE("the scale halves after an overflow, which skips the step, and doubles after 2,000 good steps") {
  auto parameter = at::ones({3}).requires_grad_(true);
  GradScaler scaler(true, at::kCPU);
  double updates = 0;
  auto step = [&](double gradient) {
    parameter.mutable_grad() = at::full({3}, gradient);
    scaler.step({parameter}, [&](const at::Tensor& overflow) { updates += 1 - overflow.item<double>(); });
  };
  CHECK(scaler.scale(at::ones({})).item<double>() == 65536);
  step(65536.0 * 2);
  CHECK(updates == 1);
  CHECK(parameter.grad()[0].item<double>() == 2);
  step(std::numeric_limits<double>::infinity());
  CHECK(updates == 1);
  CHECK(scaler.state().skipped == 1);
  CHECK(scaler.state().scale == 32768);
  for (int i = 0; i < 1999; ++i) step(1);
  CHECK(scaler.state().scale == 32768);
  step(1);
  CHECK(scaler.state().scale == 65536);
  step(std::numeric_limits<double>::quiet_NaN());
  CHECK(scaler.state().scale == 32768);
}

TEST_CASE("a scaler that is off changes nothing") {
  GradScaler scaler(false, at::kCPU);
  bool updated = false;
  CHECK(scaler.scale(at::full({}, 3.0)).item<double>() == 3);
  scaler.step({}, [&](const at::Tensor& overflow) { updated = !overflow.defined(); });
  CHECK(updated);
  CHECK(scaler.state().scale == 1);
}

TEST_CASE("tf32 is allowed or not, in products of matrices and convolutions alike") {
  const auto now = [] {
    return std::pair(at::globalContext().allowTF32CuDNN(), at::globalContext().allowTF32CuBLAS());
  };
  allowTensorFloat32(true);
  CHECK((now() == std::pair(true, true)));
  allowTensorFloat32(false);
  CHECK((now() == std::pair(false, false)));
  CHECK((weightType(Precision::Tf32) == at::kFloat));
  CHECK_FALSE(autocastType(Precision::Tf32).has_value());
}
