#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <doctest/doctest.h>

#include <memory>
#include <string_view>

#include "runtime/worker/model/optimizer.h"

using namespace expc::optimizer;

namespace {

at::Tensor withGradient(const at::Tensor& gradient) {
  at::Tensor parameter = at::zeros_like(gradient).requires_grad_(true);
  parameter.mutable_grad() = gradient;
  return parameter;
}

thread_local int reads = 0;

/// How often a value crosses to the host while it lives.
struct CountReads {
  CountReads() {
    reads = 0;
    handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
          reads += std::string_view(function.name()) == "aten::_local_scalar_dense";
          return nullptr;
        }).scopes({at::RecordScope::FUNCTION}));
  }
  ~CountReads() { at::removeCallback(handle); }
  at::CallbackHandle handle;
};

}  // namespace

TEST_CASE("gradients whose norm is above the largest are scaled down to it, others stay") {
  const std::vector<at::Tensor> parameters = {withGradient(at::full({9}, 2.0, at::kFloat)),
                                              at::zeros({3}).requires_grad_(true),
                                              withGradient(at::full({4}, 4.0, at::kFloat))};
  CHECK(clipGradients(parameters, 0).item<double>() == 10);
  CHECK(clipGradients(parameters, 20).item<double>() == 10);
  CHECK(parameters[0].grad()[0].item<float>() == 2.0f);
  CHECK(clipGradients(parameters, 5).item<double>() == 10);
  CHECK(parameters[0].grad()[0].item<float>() == float(2 * (5 / (10 + 1e-6))));
  CHECK(parameters[2].grad()[0].item<float>() == float(4 * (5 / (10 + 1e-6))));
  CHECK_FALSE(parameters[1].grad().defined());
}

TEST_CASE("parts of parameters are clipped by the norm of all ranks, also where a rank has none") {
  const std::vector<at::Tensor> some = {withGradient(at::full({9}, 2.0, at::kBFloat16))};
  const auto others = [](at::Tensor& square) { square.add_(64); };
  CHECK(clipGradients(some, 5, others).item<double>() == 10);
  CHECK(some[0].grad()[0].item<float>() == 1.0f);
  const std::vector<at::Tensor> none = {at::zeros({3}).requires_grad_(true)};
  CHECK(clipGradients(none, 5, others).item<double>() == 8);
}

TEST_CASE("the host reads nothing, so that it does not wait for a device") {
  const std::vector<at::Tensor> parameters = {withGradient(at::ones({9})), withGradient(at::ones({4}))};
  const CountReads counted;
  clipGradients(parameters, 1, [](at::Tensor& square) { square.mul_(2); });
  CHECK(reads == 0);
  at::ones({}).item<float>();
  CHECK(reads == 1);
}
