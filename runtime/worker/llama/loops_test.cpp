// Compares our loops, of every instruction set that this processor has, with torch's operators in double precision.

#include "runtime/worker/llama/loops.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/worker/llama/attention.h"
#include "runtime/worker/llama/fake_quant.h"
#include "runtime/worker/llama/head_loss.h"
#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/products.h"

namespace expc::llama {
namespace {

using Tensors = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const Tensors&)>;

/// The result and the gradients of all inputs, where the result's gradient is a fixed one.
Tensors run(const Function& function, const Tensors& inputs, at::ScalarType type) {
  Tensors leaves;
  for (const at::Tensor& input : inputs)
    leaves.push_back(input.detach().to(type, false, /*copy=*/true).requires_grad_(true));
  const at::Tensor result = function(leaves);
  const at::Tensor above = at::arange(result.numel(), at::kDouble).mul(0.7).cos().view(result.sizes());
  result.backward(above.to(at::kBFloat16).to(result.scalar_type()));  // the same numbers in all types
  Tensors found = {result.detach()};
  for (const at::Tensor& leaf : leaves) found.push_back(leaf.grad());
  return found;
}

void compare(const Function& function, const Tensors& inputs, at::ScalarType type, double tolerance) {
  Tensors rounded;
  for (const at::Tensor& input : inputs) rounded.push_back(input.to(type).to(at::kDouble));
  const Tensors expected = run(function, rounded, at::kDouble), found = run(function, rounded, type);
  for (size_t i = 0; i < expected.size(); ++i) {
    const double largest = expected[i].abs().max().item<double>();
    CAPTURE(i);
    CHECK((found[i].to(at::kDouble) - expected[i]).abs().max().item<double>() <= tolerance * std::max(1.0, largest));
  }
}

/// Runs with the loops of every instruction set, in both types that they store.
void compareAll(const Function& function, const Tensors& inputs) {
  for (const auto* const* loops = kernels::allLoops<kernels::DecoderLoops<float>>(); *loops != nullptr; ++loops) {
    const std::string name = (*loops)->name;
    CAPTURE(name);
    kernels::chooseLoops<kernels::DecoderLoops<float>>(*loops);
    compare(function, inputs, at::kFloat, 3e-6);
  }
  for (const auto* const* loops = kernels::allLoops<kernels::DecoderLoops<kernels::Bf16>>(); *loops != nullptr;
       ++loops) {
    const std::string name = (*loops)->name;
    CAPTURE(name);
    kernels::chooseLoops<kernels::DecoderLoops<kernels::Bf16>>(*loops);
    compare(function, inputs, at::kBFloat16, 0x1p-6);  // logits and their gradients are rounded, too
  }
  kernels::chooseLoops<kernels::DecoderLoops<float>>(nullptr);
  kernels::chooseLoops<kernels::DecoderLoops<kernels::Bf16>>(nullptr);
}

TEST_CASE("a value that is no number stays none in bf16, whatever its bits are") {
  for (const auto* const* loops = kernels::allLoops<kernels::DecoderLoops<kernels::Bf16>>(); *loops != nullptr;
       ++loops) {
    const std::string name = (*loops)->name;
    CAPTURE(name);
    const std::vector<float> rotations(64, std::bit_cast<float>(0x7fffffffu));
    const std::vector<kernels::Bf16> x(64, kernels::Bf16{0x3f80});  // ones
    std::vector<kernels::Bf16> y(64);
    (*loops)->turn(x.data(), rotations.data(), 0, 1, 1, 1, 64, 1, y.data());
    CHECK(std::ranges::all_of(y, [](kernels::Bf16 one) { return (one.bits & 0x7fff) > 0x7f80; }));
  }
}

TEST_CASE("loops give what torch's operators give in double precision") {
  at::manual_seed(1);
  const auto normal = [](at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble); };
  SUBCASE("norm, with and without a trained scale") {
    compareAll([](const Tensors& x) { return rmsNorm(x[0], x[1], 1e-5); }, {normal({37, 45}), normal({45})});
  }
  SUBCASE("gated product, far out too") {
    compareAll([](const Tensors& x) { return swiGlu(x[0], x[1]); }, {normal({19, 23}) * 12, normal({19, 23})});
  }
  SUBCASE("rotation") {
    Config config;
    config.head_width = 22;
    compareAll(
        [&](const Tensors& x) {
          const Rope rope(config, 16, x[0].scalar_type(), at::kCPU);
          const at::Tensor positions = at::tensor({3, 4, 5, 0, 1, 2, 9, 8, 7, 6}, at::kLong).view({2, 5});
          return turn(x[0], rope.rotations(positions, 5)) + turn(x[0], rope.rotations({}, 5));
        },
        {normal({2, 5, 3, 22})});
  }
  SUBCASE("loss on top of a head") {
    const at::Tensor targets = at::arange(9, at::kLong) * 5;
    compareAll([&](const Tensors& x) { return headLossSum(x[0], x[1], targets); }, {normal({9, 16}), normal({53, 16})});
    compareAll([&](const Tensors& x) { return headLogProbs(x[0], x[1], targets); },
               {normal({9, 16}), normal({53, 16})});
    compareAll([&](const Tensors& x) { return logProbs(x[0], targets); }, {normal({9, 53}) * 20});
  }
  SUBCASE("attention") {
    compareAll(
        [](const Tensors& x) {
          const Attention attention(at::kCPU, x[0].scalar_type(), 3, 3, 8);
          return attention.ofRows(x[0], x[1], x[2]);
        },
        {normal({2, 17, 3, 8}), normal({2, 17, 3, 8}), normal({2, 17, 3, 8})});
    compareAll(
        [](const Tensors& x) {
          const Attention attention(at::kCPU, x[0].scalar_type(), 3, 3, 8);
          return attention.ofDocuments(x[0], x[1], x[2], {{5, 9, 3}, {}});
        },
        {normal({17, 3, 8}), normal({17, 3, 8}), normal({17, 3, 8})});
  }
}

TEST_CASE("rounding by loops gives the bits of torch's operators") {
  at::manual_seed(2);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x = at::randn({33, 64}, at::kDouble).to(type), above = at::randn({33, 64}, at::kDouble).to(type);
    const auto rounded = [&](at::Tensor leaf, bool weight) {
      leaf.requires_grad_(true);
      const at::Tensor y = weight ? fakeQuantWeight(leaf, 32) : fakeQuantActivation(leaf);
      y.backward(above);
      return std::pair(y.detach().contiguous(), leaf.grad().contiguous());
    };
    for (const bool weight : {false, true}) {
      // Loops take contiguous tensors only.
      const at::Tensor spread = x.t().contiguous().t();
      REQUIRE_FALSE(loopsServe(spread));
      const auto plain = rounded(spread.detach(), weight);
      for (size_t i = 0;; ++i) {
        const auto* narrow = kernels::allLoops<kernels::DecoderLoops<float>>()[i];
        if (narrow == nullptr) break;
        const std::string name = narrow->name;
        CAPTURE(name);
        kernels::chooseLoops<kernels::DecoderLoops<float>>(narrow);
        kernels::chooseLoops<kernels::DecoderLoops<kernels::Bf16>>(
            kernels::allLoops<kernels::DecoderLoops<kernels::Bf16>>()[i]);
        const auto found = rounded(x.clone(), weight);
        CHECK(at::equal(found.first, plain.first));
        CHECK(at::equal(found.second, plain.second));
      }
      kernels::chooseLoops<kernels::DecoderLoops<float>>(nullptr);
      kernels::chooseLoops<kernels::DecoderLoops<kernels::Bf16>>(nullptr);
    }
  }
}

TEST_CASE("what diverged stays visible") {
  at::Tensor logits = at::zeros({2, 40}, at::kFloat);
  logits[0][7] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor result = logProbs(logits, at::tensor({1, 1}, at::kLong));
  CHECK(std::isnan(result[0].item<float>()));
  CHECK(result[1].item<float>() == doctest::Approx(-std::log(40.0)));
}

TEST_CASE("products are those of torch") {
  at::manual_seed(3);
  const at::Tensor x = at::randn({21, 48}), w = at::randn({40, 48}), g = at::randn({21, 40});
  CHECK(at::allclose(timesTransposed(x, w), at::linear(x, w), 1e-5, 1e-5));
  CHECK(at::allclose(times(g, w), at::mm(g, w), 1e-5, 1e-5));
  at::Tensor sum;
  addTimes(sum, g, w);
  addTimes(sum, g, w);
  CHECK(at::allclose(sum, 2 * at::mm(g, w), 1e-5, 1e-5));
}

}  // namespace
}  // namespace expc::llama
