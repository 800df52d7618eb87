#include "runtime/worker/profile/operator_work.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <thread>

#include "runtime/worker/profile/operator_flops.h"

namespace expc::profile {
namespace {

using Operations = std::map<std::string, double>;

OperatorWork workOf(const std::function<void()>& body, size_t cache = 0) {
  return operatorWork(c10::kCPU, cache, body);
}

Operations operationsOf(const std::function<void()>& body) { return workOf(body).operations; }
double bytesOf(const std::function<void()>& body, size_t cache = 0) { return workOf(body, cache).memory_bytes; }

at::Tensor random(at::IntArrayRef shape, bool trained = true, at::ScalarType type = at::kFloat) {
  return at::rand(shape, at::TensorOptions(type)).set_requires_grad(trained);
}

void backward(const at::Tensor& result, const std::vector<at::Tensor>& inputs) {
  torch::autograd::grad({result}, inputs, {at::ones_like(result)});
}

/// The work that a call of `name` with these arguments would count, without calling it; for kernels
/// that need a GPU.
double pairsOf(const char* name, std::vector<c10::IValue> values) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  const auto pairs =
      attentionPairs(OperatorCall(handle, c10::ArrayRef<const c10::IValue>(values.data(), values.size())));
  return pairs ? pairs->pairs : -1;
}

TEST_CASE("a linear layer takes two operations for each weight and row, each way") {
  const at::Tensor x = random({5, 7}), weight = random({11, 7}), bias = random({11});
  CHECK(operationsOf([&] { at::linear(x, weight, bias); }) == Operations{{"fp32", 2 * 5 * 7 * 11}});
  CHECK(operationsOf([&] { at::linear(x, weight); }) == Operations{{"fp32", 2 * 5 * 7 * 11}});
  CHECK(operationsOf([&] { backward(at::linear(x, weight, bias), {x, weight}); }) ==
        Operations{{"fp32", 3 * 2 * 5 * 7 * 11}});
  CHECK(operationsOf([&] { backward(at::linear(x, weight, bias), {weight}); }) ==
        Operations{{"fp32", 2 * 2 * 5 * 7 * 11}});
  const at::Tensor rows = random({2, 5, 7});
  CHECK(operationsOf([&] { at::linear(rows, weight, bias); }) == Operations{{"fp32", 2 * 2 * 5 * 7 * 11}});
}

TEST_CASE("products of matrices count once whatever they are called by, by the type of what is multiplied") {
  const at::Tensor a = random({3, 4, 5}, false), b = random({3, 5, 6}, false), c = random({3, 4, 6}, false);
  const double expected = 2 * 3 * 4 * 5 * 6;
  CHECK(operationsOf([&] { at::bmm(a, b); }) == Operations{{"fp32", expected}});
  CHECK(operationsOf([&] { at::matmul(a, b); }) == Operations{{"fp32", expected}});
  CHECK(operationsOf([&] { at::baddbmm(c, a, b); }) == Operations{{"fp32", expected}});
  at::Tensor out = at::empty({3, 4, 6});
  CHECK(operationsOf([&] { at::bmm_out(out, a, b); }) == Operations{{"fp32", expected}});
  CHECK(operationsOf([&] { at::mv(a[0], b[0].select(1, 0)); }) == Operations{{"fp32", 2 * 4 * 5}});
  CHECK(operationsOf([&] { at::mm(a[0].to(at::kDouble), b[0].to(at::kDouble)); }) ==
        Operations{{"fp64", 2 * 4 * 5 * 6}});
  CHECK(operationsOf([&] {
          at::mm(a[0].to(at::kBFloat16), b[0].to(at::kBFloat16));
          at::mm(a[0], b[0]);
        }) == Operations{{"bf16", 2 * 4 * 5 * 6}, {"fp32", 2 * 4 * 5 * 6}});
  CHECK(operationsOf([&] { at::add(a, a).mul_(a).sum().exp(); }) == Operations{});
}

TEST_CASE("under autocast a product counts in the type that it is cast to") {
  const at::Tensor a = random({4, 5}, false), b = random({5, 6}, false), bias = random({6}, false);
  const at::Tensor images = random({1, 2, 8, 8}, false), kernel = random({4, 2, 3, 3}, false);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const Operations product = operationsOf([&] { at::mm(a, b); });
  const Operations layer = operationsOf([&] { at::linear(a, b.t(), bias); });
  const Operations convolution = operationsOf([&] { at::conv2d(images, kernel); });
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  CHECK(product == Operations{{"bf16", 2 * 4 * 5 * 6}});
  CHECK(layer == Operations{{"bf16", 2 * 4 * 5 * 6}});
  CHECK(convolution == Operations{{"bf16", 2 * 6 * 6 * 4 * 2 * 9}});
}

TEST_CASE("a convolution counts by its results, its groups and the gradients that are wanted") {
  const at::Tensor images = random({2, 6, 9, 9}), kernel = random({4, 3, 3, 3}), bias = random({4});
  const auto run = [&] {
    return at::conv2d(images, kernel, bias, /*stride=*/2, /*padding=*/1, /*dilation=*/1, /*groups=*/2);
  };
  const double forward = 2 * (2 * 4 * 5 * 5) * (3 * 3 * 3);
  CHECK(operationsOf([&] { run(); }) == Operations{{"fp32", forward}});
  CHECK(operationsOf([&] { backward(run(), {images, kernel, bias}); }) == Operations{{"fp32", 3 * forward}});
  CHECK(operationsOf([&] { backward(run(), {kernel}); }) == Operations{{"fp32", 2 * forward}});
  const at::Tensor depthwise = random({6, 1, 3, 3});
  CHECK(operationsOf([&] { at::conv2d(images, depthwise, {}, 1, 1, 1, 6); }) ==
        Operations{{"fp32", 2 * (2 * 6 * 9 * 9) * 9}});
  const at::Tensor up = random({6, 5, 2, 2});  // [in, out, rows, columns]
  CHECK(operationsOf([&] { backward(at::conv_transpose2d(images, up, {}, /*stride=*/2), {images, up}); }) ==
        Operations{{"fp32", 3 * 2 * (2 * 6 * 9 * 9) * (5 * 2 * 2)}});
}

TEST_CASE("attention counts the pairs that its mask leaves, and the scores again backwards") {
  const at::Tensor q = random({2, 3, 8, 16}), k = random({2, 3, 8, 16}), v = random({2, 3, 8, 16});
  const auto run = [&](bool causal) { return at::scaled_dot_product_attention(q, k, v, {}, 0.0, causal); };
  const double all = 2 * 3 * 8 * 8, causal = 2 * 3 * (8 * 9 / 2);
  CHECK(operationsOf([&] { run(false); }) == Operations{{"fp32", all * 2 * 32}});
  CHECK(operationsOf([&] { run(true); }) == Operations{{"fp32", causal * 2 * 32}});
  CHECK(operationsOf([&] { backward(run(true), {q, k, v}); }) == Operations{{"fp32", causal * 2 * (2 + 5) * 16}});
}

TEST_CASE("packed samples count by their lengths, and as the shortest where nobody knows them") {
  const at::Tensor q = random({10, 4, 16}, false), k = random({10, 2, 16}, false);
  const auto pairs = [&](const at::Tensor& bounds, bool causal) {
    return pairsOf("aten::_flash_attention_forward",
                   {q, k, k, bounds, bounds, 7, 7, 0.0, causal, false, {}, {}, {}, {}, {}});
  };
  const at::Tensor bounds = at::tensor({0, 3, 10}, at::kInt), unset = at::zeros({3}, at::kInt);
  CHECK(pairs(bounds, false) == 4 * (3 * 3 + 7 * 7));
  CHECK(pairs(bounds, true) == 4 * (3 * 4 / 2 + 7 * 8 / 2));
  CHECK(pairs(unset, true) == 4 * 2 * (5 * 6 / 2));
  CHECK(pairsOf("aten::_flash_attention_forward",
                {q, k, k, bounds, bounds, 7, 7, 0.0, true, false, {}, 4, 0, {}, {}}) == -1);
  const at::Tensor batch = random({2, 8, 4, 16}, false);
  CHECK(pairsOf("aten::_efficient_attention_forward",
                {batch, batch, batch, {}, {}, {}, {}, {}, 0.0, 1, true, {}, {}, {}}) == 2 * 4 * (8 * 9 / 2));
  CHECK(pairsOf("aten::_efficient_attention_forward",
                {q.unsqueeze(0), k.unsqueeze(0), k.unsqueeze(0), {}, bounds, bounds, 7, 7, 0.0, 1, true, {}, {}, {}}) ==
        4 * (3 * 4 / 2 + 7 * 8 / 2));
}

TEST_CASE("bytes are those that an operator reads and writes, each once") {
  const at::Tensor a = random({100}, false), b = random({100}, false), row = random({1, 10}, false);
  CHECK(bytesOf([&] { at::add(a, b); }) == 3 * 400);
  CHECK(bytesOf([&] { at::mul(a, a); }) == 2 * 400);
  CHECK(bytesOf([&] { at::mul(a.view({10, 10}), row.expand({10, 10})); }) == 2 * 400 + 40);
  CHECK(bytesOf([&] { a.mul_(b); }) == 3 * 400);
  CHECK(bytesOf([&] { a.copy_(b); }) == 2 * 400);
  CHECK(bytesOf([&] { a.zero_(); }) == 400);
  CHECK(bytesOf([&] { at::zeros({100}); }) == 400);
  CHECK(bytesOf([&] { at::empty({100}).view({10, 10}).t().expand({5, 10, 10}); }) == 0);
  CHECK(bytesOf([&] { a.view({10, 10}).t().contiguous(); }) == 2 * 400);
  CHECK(bytesOf([&] { at::mm(a.view({10, 10}), b.view({10, 10})); }) == 3 * 400);
  CHECK(bytesOf([&] { at::linear(a.view({10, 10}), b.view({10, 10})); }) == 3 * 400);
  CHECK(bytesOf([&] { at::_foreach_add_({a, b}, 1.0); }) == 4 * 400);
  CHECK(bytesOf([&] { at::embedding(a.view({50, 2}), at::tensor({3, 4, 5}, at::kLong)); }) == 3 * 2 * 4);
  CHECK(bytesOf([&] { at::sum(a); }) == 404);
}

TEST_CASE("what the cache holds need not come from memory") {
  const at::Tensor a = random({100}, false), b = random({100}, false);
  CHECK(bytesOf([&] { at::add(a, b); }, 150) == (800 - 150) + (400 - 150));
  CHECK(bytesOf([&] { at::add(a, b); }, 500) == 800 - 500);
  CHECK(bytesOf([&] { at::add(a, b); }, 1000) == 0);
}

TEST_CASE("a fused optimiser reads gradients and does not write them") {
  const at::Tensor weight = random({100}, false), gradient = random({100}, false), momentum = random({100}, false);
  CHECK(bytesOf([&] { at::_fused_sgd_({weight}, {gradient}, {momentum}, 0.0, 0.9, 0.1, 0.0, false, false, false); }) ==
        5 * 400);
}

TEST_CASE("a convolution's backward pass reads only what its gradients need") {
  const at::Tensor images = random({1, 1, 4, 4}), kernel = random({1, 1, 1, 1});
  const at::Tensor result = at::conv2d(images, kernel);
  const auto run = [&](bool of_images, bool of_kernel) {
    return bytesOf([&] {
             at::convolution_backward(at::ones_like(result), images, kernel, {}, {1, 1}, {0, 0}, {1, 1}, false, {0, 0},
                                      1, {of_images, of_kernel, false});
           }) -
           bytesOf([&] { at::ones_like(result); });
  };
  CHECK(run(true, false) == 64 + 4 + 64);
  CHECK(run(false, true) == 64 + 64 + 4);
}

TEST_CASE("all threads are observed, between the two ends only") {
  const at::Tensor a = random({4, 4}, false);
  at::mm(a, a);
  CHECK(operationsOf([&] { std::thread([&] { at::mm(a, a); }).join(); }) == Operations{{"fp32", 2 * 4 * 4 * 4}});
  at::mm(a, a);
  CHECK(operationsOf([] {}).empty());
}

}  // namespace
}  // namespace expc::profile
