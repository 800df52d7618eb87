#include "runtime/worker/model/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

using namespace expc;
using optimizer::Optimizer;

namespace {

using Maker = std::function<std::unique_ptr<Optimizer>(std::vector<at::Tensor>)>;

const std::vector<std::pair<const char*, Maker>> kMakers = {
    {"sgd", [](auto p) { return optimizer::makeSgd(std::move(p), {.learning_rate = 0.1, .weight_decay = 1e-2}); }},
    {"momentum", [](auto p) { return optimizer::makeSgd(std::move(p), {.learning_rate = 0.1, .momentum = 0.9}); }},
    {"adam", [](auto p) { return optimizer::makeAdam(std::move(p), {.learning_rate = 0.1, .weight_decay = 1e-2}); }},
    {"adamw", [](auto p) { return optimizer::makeAdam(std::move(p), {.learning_rate = 0.1, .decoupled = true}); }}};

/// A weight in each memory order, and one that never gets a gradient.
std::vector<at::Tensor> fresh() {
  at::manual_seed(3);
  std::vector<at::Tensor> made = {at::randn({4, 3, 3, 3}),
                                  at::randn({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast), at::randn({5})};
  for (auto& tensor : made) tensor.requires_grad_(true);
  return made;
}

void step(Optimizer& optimizer, std::vector<at::Tensor>& parameters, uint64_t seed) {
  at::manual_seed(seed);
  for (size_t i = 0; i < 2; ++i) parameters[i].mutable_grad() = at::randn(parameters[i].sizes());
  optimizer.step();
}

Optimizer::State copied(const Optimizer& optimizer) {
  Optimizer::State state;  // row-major, as a file has it
  for (const auto& [name, tensor] : optimizer.state())
    state.emplace_back(name, tensor.clone(at::MemoryFormat::Contiguous));
  return state;
}

}  // namespace

TEST_CASE("an optimiser goes on from a copy of its state as if it had never stopped") {
  for (const auto& [name, make] : kMakers) {
    CAPTURE(name);
    auto whole = fresh();
    auto one = make(whole);
    for (uint64_t i = 0; i < 3; ++i) step(*one, whole, i);
    const auto state = copied(*one);
    std::vector<at::Tensor> resumed;
    for (const auto& tensor : whole) resumed.push_back(tensor.detach().clone().requires_grad_(true));
    auto two = make(resumed);
    step(*two, resumed, 99);  // what it has done before is forgotten
    {
      at::NoGradGuard no_grad;
      for (size_t i = 0; i < 3; ++i) resumed[i].copy_(whole[i]);
    }
    REQUIRE_FALSE(bool(two->restore(state)));
    for (uint64_t i = 3; i < 6; ++i) {
      step(*one, whole, i);
      step(*two, resumed, i);
    }
    for (size_t i = 0; i < 3; ++i) CHECK(at::equal(whole[i], resumed[i]));
    CHECK(resumed[1].is_contiguous(at::MemoryFormat::ChannelsLast));
  }
}

TEST_CASE("a state has PyTorch's names and leaves out parameters without a gradient") {
  auto parameters = fresh();
  auto adam = kMakers[2].second(parameters);
  CHECK(adam->state().empty());
  step(*adam, parameters, 1);
  std::vector<std::string> names;
  for (const auto& entry : adam->state()) names.push_back(entry.first);
  CHECK(names ==
        std::vector<std::string>{"0.exp_avg", "0.exp_avg_sq", "0.step", "1.exp_avg", "1.exp_avg_sq", "1.step"});
}

TEST_CASE("a state of another optimiser or model is refused and changes nothing") {
  auto parameters = fresh();
  auto momentum = kMakers[1].second(parameters);
  step(*momentum, parameters, 1);
  const auto before = copied(*momentum);
  auto adam = kMakers[2].second(parameters);
  step(*adam, parameters, 1);
  const auto said = [&](const Optimizer::State& state) { return llvm::toString(momentum->restore(state)); };
  CHECK(said(copied(*adam)) == "the optimiser's state 0.exp_avg belongs to no parameter of it");
  CHECK(said({{"7.momentum_buffer", at::zeros({1})}}) ==
        "the optimiser's state 7.momentum_buffer belongs to no parameter of it");
  CHECK(said({{"2.momentum_buffer", at::zeros({6})}}) ==
        "the optimiser's state 2.momentum_buffer has another shape than its parameter");
  Optimizer::State half = copied(*adam);
  half.erase(half.begin() + 1);
  CHECK(llvm::toString(adam->restore(half)) == "the optimiser's state has no 0.exp_avg_sq");
  const auto after = copied(*momentum);
  REQUIRE(after.size() == before.size());
  for (size_t i = 0; i < after.size(); ++i) CHECK(at::equal(after[i].second, before[i].second));
}

TEST_CASE("adamw on fp16 parameters steps as on fp32 ones, and goes on from its state") {
  at::manual_seed(5);
  const auto start = at::randn({64}).to(at::kHalf),
             gradient = at::randn({64}).mul(1e-4);  // squared it is nothing in fp16
  auto half = start.clone().requires_grad_(true), wide = start.to(at::kFloat).requires_grad_(true);
  const optimizer::AdamOptions options{.learning_rate = 1e-5, .decoupled = true};
  auto one = optimizer::makeAdam({half}, options), reference = optimizer::makeAdam({wide}, options);
  const auto both = [&](Optimizer& optimizer, at::Tensor& parameter) {
    parameter.mutable_grad() = gradient.to(at::kHalf);
    optimizer.step();
    wide.mutable_grad() = gradient.to(at::kHalf).to(at::kFloat);
    reference->step();
    CHECK(at::equal(parameter, wide.to(at::kHalf)));
  };
  // Each step is below the spacing of fp16 near one; a hundred are not.
  for (int i = 0; i < 100; ++i) both(*one, half);
  CHECK_FALSE(at::equal(half, start));
  auto resumed = half.detach().clone().requires_grad_(true);
  auto two = optimizer::makeAdam({resumed}, options);
  REQUIRE_FALSE(bool(two->restore(copied(*one))));
  for (int i = 0; i < 100; ++i) both(*two, resumed);
}

TEST_CASE("elements that do not decay are stepped as by an optimiser without decay") {
  using Make = std::function<std::unique_ptr<Optimizer>(std::vector<at::Tensor>, double, optimizer::Undecayed)>;
  const Make makers[] = {
      [](auto p, double decay, auto undecayed) {
        return optimizer::makeAdam(
            std::move(p),
            {.learning_rate = 0.1, .weight_decay = decay, .decoupled = true, .undecayed = std::move(undecayed)});
      },
      [](auto p, double decay, auto undecayed) {
        return optimizer::makeSgd(
            std::move(p),
            {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = decay, .undecayed = std::move(undecayed)});
      }};
  const optimizer::Undecayed parts = {{{1, 3}, {5, 6}}, {}, {{0, 2}}};
  for (const Make& make : makers) {
    std::vector<at::Tensor> some, decayed, plain;
    for (const int64_t size : {6, 4, 2})
      for (auto* list : {&some, &decayed, &plain}) list->push_back(at::arange(1, size + 1).to(at::kFloat));
    const auto a = make(some, 0.5, parts), b = make(decayed, 0.5, {}), c = make(plain, 0, {});
    for (int step = 0; step < 2; ++step) {
      for (auto* list : {&some, &decayed, &plain})
        for (at::Tensor& one : *list) one.mutable_grad() = at::full_like(one, step + 1);
      for (const auto* one : {&a, &b, &c}) (*one)->step();
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      at::Tensor expected = decayed[i].clone();
      for (const auto& [first, last] : parts[i]) expected.slice(0, first, last).copy_(plain[i].slice(0, first, last));
      CHECK(at::equal(some[i], expected));
    }
  }
}
