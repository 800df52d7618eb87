#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <functional>

#include "runtime/base/format.h"
#include "runtime/worker/model/optimizer.h"
#include "tests/parity/fixtures.h"

namespace expc::parity {
namespace {

using Maker = std::function<std::unique_ptr<optimizer::Optimizer>(std::vector<at::Tensor>)>;

Maker sgd(double rate, double momentum, double decay) {
  return [=](std::vector<at::Tensor> parameters) {
    return optimizer::makeSgd(std::move(parameters), {rate, momentum, decay});
  };
}
Maker adam(double rate, double beta1, double beta2, double decay, bool decoupled) {
  return [=](std::vector<at::Tensor> parameters) {
    return optimizer::makeAdam(std::move(parameters), {rate, beta1, beta2, 1e-8, decay, decoupled});
  };
}

struct Run {
  const char* output;
  Maker make;
};
const std::vector<Run> kRuns = {{"out.sgd", sgd(0.1, 0, 0)},
                                {"out.sgd_m0.9_wd4e-5", sgd(0.045, 0.9, 4e-5)},
                                {"out.adam_l2_wd0.1", adam(3e-2, 0.9, 0.999, 0.1, false)},
                                {"out.adamw", adam(3e-2, 0.9, 0.999, 0.01, true)},
                                {"out.adamw_fused_fp32", adam(3e-2, 0.9, 0.999, 0.01, true)},
                                {"out.adamw_wd0.05_b0.9_0.95", adam(3e-2, 0.9, 0.95, 0.05, true)}};

TEST_CASE("five steps of each optimiser") {
  const auto file = openTensors("optim.safetensors");
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    for (const Run& run : kRuns) {
      CAPTURE(run.output);
      auto p = tensorOf(file, "p0").to(dtype).requires_grad_(true);
      const auto optimizer = run.make({p});
      for (int step = 0; step < 5; ++step) {
        p.mutable_grad() = tensorOf(file, fmt::format("g{}", step)).to(dtype);
        optimizer->step();
      }
      CHECK(difference(p, tensorOf(file, run.output)) < 2e-6);
    }
  }
}

TEST_CASE("bf16 parameters") {
  const auto file = openTensors("optim.safetensors");
  auto p = tensorOf(file, "p0").to(at::kBFloat16).requires_grad_(true);
  const auto optimizer = adam(3e-2, 0.9, 0.999, 0.01, true)({p});
  for (int step = 0; step < 5; ++step) {
    p.mutable_grad() = tensorOf(file, fmt::format("g{}", step)).to(at::kBFloat16);
    optimizer->step();
  }
  CHECK(difference(p, tensorOf(file, "out.adamw_fused_bf16")) < 3e-2);
}

TEST_CASE("gradients in another memory order, late and missing ones") {
  at::manual_seed(1);
  for (const Maker& make : {sgd(0.1, 0.9, 1e-2), adam(1e-2, 0.9, 0.999, 0.1, true)}) {
    const auto start = at::randn({6, 4, 3, 3});
    auto a = start.clone().requires_grad_(true);
    auto b = start.clone().contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true);
    auto never = at::ones({3}).requires_grad_(true), late = at::ones({3}).requires_grad_(true),
         alone = at::ones({3}).requires_grad_(true);
    const auto both = make({a, b, never, late}), single = make({alone});
    for (int step = 0; step < 4; ++step) {
      const auto g = at::randn({6, 4, 3, 3});
      a.mutable_grad() = g;
      b.mutable_grad() = g;
      if (step >= 2) late.mutable_grad() = alone.mutable_grad() = at::full({3}, 0.5 + step);
      both->step();
      if (step >= 2) single->step();
    }
    CHECK(difference(a, b) < 1e-7);
    CHECK(difference(never, at::ones({3})) == 0);
    // A parameter whose first gradient comes late starts then.
    CHECK(difference(late, alone) == 0);
    CHECK(difference(late, at::ones({3})) > 0);
  }
}

TEST_CASE("a changed learning rate counts from the next step, and gradients are dropped") {
  auto p = at::ones({2}).requires_grad_(true);
  const auto optimizer = sgd(0.5, 0, 0)({p});
  p.mutable_grad() = at::ones({2});
  optimizer->setLearningRate(0);
  optimizer->step();
  CHECK(difference(p, at::ones({2})) == 0);
  optimizer->setLearningRate(1);
  optimizer->step();
  CHECK(difference(p, at::zeros({2})) == 0);
  optimizer->zeroGrad();
  CHECK_FALSE(p.grad().defined());
}

}  // namespace
}  // namespace expc::parity
