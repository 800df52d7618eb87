#include "runtime/worker/kernels/batch_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "runtime/worker/kernels/batch_norm_loops.h"

namespace expc::kernels {
namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() /
         std::max(1e-30, b.abs().max().item<double>());
}

struct State {
  at::Tensor x, scale, shift, mean, variance;
  State(at::IntArrayRef shape, double offset) {
    x = at::randn(shape).mul(3).add(offset).contiguous(at::MemoryFormat::ChannelsLast);
    scale = at::rand({shape[1]}) + 0.5;
    shift = at::randn({shape[1]});
    mean = at::randn({shape[1]});
    variance = at::rand({shape[1]}) + 0.1;
  }
  State to(at::ScalarType type) const {
    State other = *this;
    for (at::Tensor* tensor : {&other.x, &other.scale, &other.shift, &other.mean, &other.variance})
      *tensor = tensor->detach().to(type, false, true);
    for (at::Tensor* tensor : {&other.x, &other.scale, &other.shift}) tensor->requires_grad_(true);
    return other;
  }
};

TEST_CASE("value, gradients and running statistics equal torch's in double") {
  at::manual_seed(1);
  for (const auto& shape : std::vector<std::vector<int64_t>>{{2, 8, 1, 1},
                                                             {8, 8, 24, 24},
                                                             {3, 5, 7, 6},
                                                             {4, 37, 5, 5},
                                                             {2, 96, 14, 14},
                                                             {1, 40, 3, 2},
                                                             {16, 16, 64, 64},
                                                             {2, 1, 9, 9}}) {
    for (const double offset : {0.0, 50.0}) {
      // Two values far from zero differ by little more than their rounding: nothing to compare.
      if (offset != 0 && shape[0] * shape[2] * shape[3] < 8) continue;
      CAPTURE(shape[1]);
      CAPTURE(offset);
      const State start(shape, offset);
      const State ours = start.to(at::kFloat), reference = start.to(at::kDouble);
      REQUIRE(servesBatchNorm(ours.x));
      const auto y = trainBatchNorm(ours.x, ours.scale, ours.shift, ours.mean, ours.variance, kMomentum, kEpsilon);
      const auto wanted = at::batch_norm(reference.x, reference.scale, reference.shift, reference.mean,
                                         reference.variance, true, kMomentum, kEpsilon, false);
      CHECK(y.suggest_memory_format() == ours.x.suggest_memory_format());
      // The offset costs fp32 digits before any arithmetic here: x and the stored mean are rounded.
      const double bound = offset == 0 ? 1e-6 : 2e-5;
      CHECK(difference(y.detach(), wanted.detach()) < bound);
      CHECK(difference(ours.mean, reference.mean) < 1e-6);
      CHECK(difference(ours.variance, reference.variance) < 1e-6);
      const auto g = at::randn_like(y);
      y.backward(g);
      wanted.backward(g.to(at::kDouble));
      CHECK(difference(ours.shift.grad(), reference.shift.grad()) < bound);
      // With two values a channel the gradients are differences that nearly cancel.
      const double loose = y.numel() / y.size(1) < 8 ? 50 * bound : 3 * bound;
      CHECK(difference(ours.scale.grad(), reference.scale.grad()) < loose);
      CHECK((ours.x.grad().to(at::kDouble) - reference.x.grad()).abs().max().item<double>() < loose);
      CHECK(ours.x.grad().suggest_memory_format() == ours.x.suggest_memory_format());
    }
  }
}

TEST_CASE("the number of threads changes no bit, nor does clamping the result in place") {
  const int before = at::get_num_threads();
  at::manual_seed(2);
  const State start({8, 24, 40, 40}, 1);
  std::vector<at::Tensor> first;
  for (int threads : {1, 2}) {
    at::set_num_threads(threads);
    const State s = start.to(at::kFloat);
    auto y = trainBatchNorm(s.x, s.scale, s.shift, s.mean, s.variance, kMomentum, kEpsilon);
    y = at::hardtanh_(y, 0, 6);
    y.square().sum().backward();
    const std::vector<at::Tensor> values{y.detach(), s.x.grad(), s.scale.grad(), s.shift.grad(), s.mean, s.variance};
    for (size_t i = 0; i < first.size(); ++i) CHECK(at::equal(values[i], first[i]));
    first = values;
  }
  at::set_num_threads(before);
}

TEST_CASE("what it does not serve is left to torch") {
  const auto x = at::zeros({2, 4, 3, 3});
  CHECK_FALSE(servesBatchNorm(x));
  CHECK(servesBatchNorm(x.contiguous(at::MemoryFormat::ChannelsLast)));
  CHECK_FALSE(servesBatchNorm(x.contiguous(at::MemoryFormat::ChannelsLast).to(at::kDouble)));
  CHECK_FALSE(servesBatchNorm(at::zeros({1, 4, 1, 1})));
}

TEST_CASE("every instruction set gives the same sums") {
  at::manual_seed(3);
  for (int64_t channels : {1, 7, 8, 24, 33, 64, 75}) {
    const int64_t pixels = 50;
    const auto x = at::randn({pixels, channels}), g = at::randn({pixels, channels}), mean = at::randn({channels});
    const auto wanted = at::cat({x.to(at::kDouble).sum(0), x.to(at::kDouble).square().sum(0)});
    const auto grad_wanted =
        at::cat({g.to(at::kDouble).sum(0), (g.to(at::kDouble) * (x.to(at::kDouble) - mean)).sum(0)});
    for (const BatchNormLoops* const* loops = allLoops<BatchNormLoops>(); *loops != nullptr; ++loops) {
      CAPTURE((*loops)->name);
      const auto sums = at::empty({2 * channels}, at::kDouble), grad_sums = at::empty({2 * channels}, at::kDouble);
      (*loops)->sums(x.const_data_ptr<float>(), pixels, channels, sums.mutable_data_ptr<double>());
      (*loops)->grad_sums(x.const_data_ptr<float>(), g.const_data_ptr<float>(), pixels, channels,
                          mean.const_data_ptr<float>(), grad_sums.mutable_data_ptr<double>());
      CHECK(difference(sums, wanted) < 1e-13);
      CHECK(difference(grad_sums, grad_wanted) < 1e-13);
    }
  }
}

}  // namespace
}  // namespace expc::kernels
