#include "runtime/worker/kernels/depthwise.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "runtime/worker/kernels/depthwise_loops.h"

namespace expc::kernels {
namespace {

struct DepthwiseCase {
  int64_t batch, channels, height, width;
};

// Odd and even sides, single pixels and rows, channels that fill vectors of 8, 4 and 2 doubles and that do not.
const std::vector<DepthwiseCase> kDepthwiseCases = {{1, 1, 1, 1},  {1, 3, 2, 2},    {2, 8, 3, 3},    {1, 16, 4, 4},
                                                    {3, 5, 1, 7},  {2, 7, 7, 1},    {1, 9, 5, 2},    {2, 24, 8, 8},
                                                    {1, 33, 9, 6}, {2, 12, 17, 16}, {1, 40, 16, 33}, {4, 48, 2, 2},
                                                    {2, 96, 1, 1}, {1, 10, 31, 30}, {2, 6, 56, 57},  {1, 1, 13, 12}};

double distance(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST_CASE("value and gradients equal torch's convolution") {
  at::manual_seed(1);
  for (const DepthwiseCase& s : kDepthwiseCases) {
    for (int64_t stride : {1, 2}) {
      for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        CAPTURE(s.channels);
        CAPTURE(s.height);
        CAPTURE(s.width);
        CAPTURE(stride);
        const auto x =
            at::randn({s.batch, s.channels, s.height, s.width}, at::kDouble).contiguous(format).requires_grad_(true);
        const auto w = at::randn({s.channels, 1, 3, 3}, at::kDouble).contiguous(format).requires_grad_(true);
        REQUIRE(servesDepthwise3x3(x, w, stride, 1, s.channels));
        const auto ours = depthwise3x3(x, w, stride);
        const auto gy = at::randn_like(ours);
        ours.backward(gy);
        const auto gx = x.grad().clone(), gw = w.grad().clone();

        const auto x2 = x.detach().clone().requires_grad_(true), w2 = w.detach().clone().requires_grad_(true);
        const auto theirs = at::conv2d(x2, w2, {}, stride, 1, 1, s.channels);
        theirs.backward(gy);
        REQUIRE(ours.sizes() == theirs.sizes());
        CHECK(ours.suggest_memory_format() == x.suggest_memory_format());
        CHECK(gx.suggest_memory_format() == x.suggest_memory_format());
        CHECK(distance(ours, theirs) < 1e-13);
        CHECK(distance(gx, x2.grad()) < 1e-13);
        CHECK(distance(gw, w2.grad()) < 1e-11);
      }
    }
  }
}

TEST_CASE("gradients equal finite differences") {
  at::manual_seed(2);
  for (int64_t stride : {1, 2}) {
    const auto x = at::randn({2, 3, 5, 4}, at::kDouble).requires_grad_(true),
               w = at::randn({3, 1, 3, 3}, at::kDouble).requires_grad_(true);
    const auto loss = [&](const at::Tensor& a, const at::Tensor& b) { return depthwise3x3(a, b, stride).sin().sum(); };
    loss(x, w).backward();
    at::NoGradGuard no_grad;
    for (const at::Tensor& target : {x, w}) {
      auto flat = target.view(-1);
      const auto gradient = target.grad().reshape(-1);
      for (int64_t i = 0; i < flat.numel(); ++i) {
        const double step = 1e-6, kept = flat[i].item<double>();
        flat[i] = kept + step;
        const double up = loss(x, w).item<double>();
        flat[i] = kept - step;
        const double down = loss(x, w).item<double>();
        flat[i] = kept;
        REQUIRE(gradient[i].item<double>() == doctest::Approx((up - down) / (2 * step)).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("inputs in no usual order and single gradients work") {
  at::manual_seed(3);
  const auto x = at::randn({2, 6, 9, 8}, at::kDouble).permute({0, 1, 3, 2}).requires_grad_(true);
  const auto w = at::randn({6, 1, 3, 3}, at::kDouble);
  const auto y = depthwise3x3(x, w, 2);
  CHECK(distance(y, at::conv2d(x, w, {}, 2, 1, 1, 6)) < 1e-13);
  // A gradient that is expanded from one number has strides of zero.
  y.sum().backward();
  const auto x2 = x.detach().clone().requires_grad_(true);
  at::conv2d(x2, w, {}, 2, 1, 1, 6).sum().backward();
  CHECK(distance(x.grad(), x2.grad()) < 1e-13);
  CHECK_FALSE(w.grad().defined());
}

TEST_CASE("the number of threads changes no bit") {
  at::manual_seed(4);
  const int before = at::get_num_threads();
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const auto x = at::randn({4, 36, 28, 28}, at::kDouble).contiguous(format),
               w = at::randn({36, 1, 3, 3}, at::kDouble);
    const auto run = [&](int threads) {
      at::set_num_threads(threads);
      const auto a = x.clone().requires_grad_(true), b = w.clone().requires_grad_(true);
      const auto y = depthwise3x3(a, b, 2);
      y.square().sum().backward();
      return std::vector<at::Tensor>{y.detach(), a.grad(), b.grad()};
    };
    const auto one = run(1), two = run(2);
    for (size_t i = 0; i < one.size(); ++i) CHECK(at::equal(one[i], two[i]));
  }
  at::set_num_threads(before);
}

TEST_CASE("other convolutions are left to torch") {
  const auto x = at::zeros({1, 4, 5, 5}, at::kDouble), w = at::zeros({4, 1, 3, 3}, at::kDouble);
  CHECK(servesDepthwise3x3(x, w, 1, 1, 4));
  CHECK_FALSE(servesDepthwise3x3(x.to(at::kHalf), w.to(at::kHalf), 1, 1, 4));
  CHECK_FALSE(servesDepthwise3x3(x, w.to(at::kFloat), 1, 1, 4));
  CHECK_FALSE(servesDepthwise3x3(x, w, 3, 1, 4));
  CHECK_FALSE(servesDepthwise3x3(x, w, 1, 0, 4));
  CHECK_FALSE(servesDepthwise3x3(x, at::zeros({4, 4, 3, 3}, at::kDouble), 1, 1, 1));
  CHECK_FALSE(servesDepthwise3x3(x, at::zeros({4, 1, 5, 5}, at::kDouble), 1, 1, 4));
  CHECK_FALSE(servesDepthwise3x3(at::zeros({0, 4, 5, 5}, at::kDouble), w, 1, 1, 4));
}

/// Runs all of one type's loops on every instruction set and compares them with the first.
template <typename T>
void compareInstructionSets(at::ScalarType type, double bound) {
  at::manual_seed(5);
  for (const DepthwiseCase& s : kDepthwiseCases) {
    for (int64_t stride : {1, 2}) {
      const DepthwiseShape shape{
          s.batch, s.channels, s.height, s.width, (s.height - 1) / stride + 1, (s.width - 1) / stride + 1, stride};
      const auto x = at::randn({s.batch, s.channels, s.height, s.width}, type), w = at::randn({s.channels, 9}, type);
      const auto gy = at::randn({s.batch, s.channels, shape.out_height, shape.out_width}, type);
      const auto taps = w.t().contiguous();
      std::vector<T> scratch(size_t(scratchSize(shape)));
      std::vector<std::vector<at::Tensor>> results;
      for (const DepthwiseLoops<T>* const* loops = allLoops<DepthwiseLoops<T>>(); *loops != nullptr; ++loops) {
        std::vector<at::Tensor> r;
        const T *in = x.const_data_ptr<T>(), *g = gy.const_data_ptr<T>(), *weight = w.const_data_ptr<T>();
        const auto result = [&](const at::Tensor& like) {
          return r.emplace_back(at::empty_like(like)).template mutable_data_ptr<T>();
        };
        // Both orders read the same bytes; any values will do, since loops are only compared with each other.
        const T* by_tap = taps.const_data_ptr<T>();
        (*loops)->forward_nhwc(shape, in, by_tap, result(gy), 0, s.batch * shape.out_height);
        if (stride == 2) (*loops)->input_grad_nhwc(shape, g, by_tap, result(x), 0, s.batch * s.height);
        (*loops)->weight_grad_nhwc(shape, in, g, result(w), 0, s.channels);
        (*loops)->forward_nchw(shape, in, weight, result(gy), scratch.data(), 0, s.batch * s.channels);
        (*loops)->input_grad_nchw(shape, g, weight, result(x), scratch.data(), 0, s.batch * s.channels);
        (*loops)->weight_grad_nchw(shape, in, g, result(w), scratch.data(), 0, s.channels);
        results.push_back(std::move(r));
      }
      for (size_t i = 1; i < results.size(); ++i)
        for (size_t j = 0; j < results[i].size(); ++j) CHECK(distance(results[i][j], results[0][j]) < bound);
    }
  }
}

TEST_CASE("every instruction set gives the same values") {
  compareInstructionSets<double>(at::kDouble, 1e-11);
  compareInstructionSets<float>(at::kFloat, 1e-3);
}

TEST_CASE("fp32 and bf16 are as near to fp64 as their digits allow") {
  at::manual_seed(6);
  for (const DepthwiseCase& s : kDepthwiseCases) {
    for (int64_t stride : {1, 2}) {
      for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        for (const auto type : {at::kFloat, at::kBFloat16}) {
          CAPTURE(s.channels);
          CAPTURE(s.height);
          CAPTURE(stride);
          // Round first, so that only the arithmetic differs. Under autocast the weight stays in fp32.
          const auto x =
              at::randn({s.batch, s.channels, s.height, s.width}).contiguous(format).to(type).requires_grad_(true);
          const auto w = at::randn({s.channels, 1, 3, 3}).to(type).to(at::kFloat).requires_grad_(true);
          REQUIRE(servesDepthwise3x3(x, w, stride, 1, s.channels));
          const auto y = depthwise3x3(x, w, stride);
          CHECK((y.scalar_type() == type));
          const auto g = at::randn_like(y);
          y.backward(g);
          CHECK((x.grad().scalar_type() == type));
          CHECK((w.grad().scalar_type() == at::kFloat));
          const auto x64 = x.detach().to(at::kDouble).requires_grad_(true),
                     w64 = w.detach().to(at::kDouble).requires_grad_(true);
          const auto wanted = at::conv2d(x64, w64, {}, stride, 1, 1, s.channels);
          wanted.backward(g.to(at::kDouble));
          // Results are up to 20 and rounded once: half a unit of bf16's last digit is 2^-9 of that.
          const double bound = type == at::kFloat ? 1e-5 : 0.07;
          CHECK(distance(y.detach().to(at::kDouble), wanted.detach()) < bound);
          CHECK(distance(x.grad().to(at::kDouble), x64.grad()) < bound);
          CHECK(distance(w.grad().to(at::kDouble), w64.grad()) < 2e-4);
        }
      }
    }
  }
}

}  // namespace
}  // namespace expc::kernels
