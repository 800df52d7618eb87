#include "runtime/worker/llama/decoder.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/steps.h"

namespace expc::llama {
namespace {

Config smallConfig(bool tied = false) {
  Config c;
  c.vocabulary = 40, c.width = 32, c.layers = 2, c.heads = 4, c.kv_heads = 2, c.head_width = 8, c.mlp_width = 64;
  c.max_positions = 32;
  c.tied = tied;
  return c;
}

WeightSource randomSource(at::ScalarType dtype) { return randomWeights(5, dtype); }

Sequences someTokens() {
  at::manual_seed(11);
  return {at::randint(40, {3, 9}, at::kLong), {}, {}};
}

at::Tensor labelsOf(const Sequences& input) {
  at::Tensor labels = input.tokens.clone();
  labels.narrow(1, 0, 4).fill_(kIgnored);
  return labels;
}

double largestDifference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach().to(at::kDouble) - b.detach().to(at::kDouble)).abs().max().item<double>();
}

/// Gradients of the mean loss over plain logits, by torch's own operators.
std::vector<at::Tensor> plainGradients(Decoder& decoder, const Sequences& input, const Labelled& labelled) {
  const at::Tensor logits = decoder.logits(decoder.hidden(input)).index_select(0, labelled.positions);
  const at::Tensor loss = at::cross_entropy_loss(logits, labelled.targets);
  return torch::autograd::grad({loss}, decoder.trainableTensors());
}

std::vector<at::Tensor> ownGradients(Decoder& decoder, const Sequences& input, const Labelled& labelled) {
  return torch::autograd::grad({decoder.lossSum(input, labelled) / labelled.count()}, decoder.trainableTensors());
}

TEST_CASE("random weights depend on the seed and the place alone") {
  const auto specs = weightSpecs(namedConfig("tiny").value());
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = randomWeight(specs[0], 3, at::kFloat);
  at::set_num_threads(3);
  CHECK(at::equal(one, randomWeight(specs[0], 3, at::kFloat)));
  at::set_num_threads(threads);
  CHECK(std::abs(one.mean().item<double>()) < 0.01);
  CHECK(std::abs(one.std().item<double>() - 1) < 0.01);
  CHECK_FALSE(at::equal(one, randomWeight(specs[0], 4, at::kFloat)));
  CHECK(at::equal(one.to(at::kBFloat16), randomWeight(specs[0], 3, at::kBFloat16)));
  const at::Tensor product = randomWeight(specs[2], 3, at::kFloat), bound = product * 16;  // 1 / sqrt(256)
  CHECK(bound.abs().max().item<double>() <= 1);
  CHECK(bound.max().item<double>() > 0.99);
  CHECK(bound.min().item<double>() < -0.99);
  CHECK(std::abs(bound.std().item<double>() - std::sqrt(1.0 / 3)) < 0.01);
  CHECK_FALSE(at::equal(product, randomWeight(specs[11], 3, at::kFloat)));  // the next layer's
}

TEST_CASE("any elements of random weights are those of the whole") {
  const auto specs = weightSpecs(namedConfig("tiny").value());
  for (const TensorSpec& spec : {specs[0], specs[1], specs[2], specs[8]}) {
    const at::Tensor whole = randomWeight(spec, 3, at::kFloat).flatten();
    const WeightSource parts = randomWeights(3, at::kFloat);
    const int64_t all = whole.numel();
    for (const int64_t first : {int64_t{0}, int64_t{1}, int64_t{255}, all / 3, all - 7})
      for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{7}, (all - first) / 2, all - first})
        if (first + count <= all) CHECK(at::equal(parts(spec, first, count), whole.narrow(0, first, count)));
  }
}

TEST_CASE("weights without values take the memory of those with") {
  const WeightSource none = [](const TensorSpec&, int64_t, int64_t count) {
    return at::empty({count}, at::TensorOptions().dtype(at::kFloat).device(at::kMeta));
  };
  Config config = smallConfig();
  config.width = config.mlp_width = 128, config.head_width = 32, config.kv_heads = 4;  // for NF4
  for (const bool nf4 : {false, true})
    for (const bool lora : {false, true}) {
      if (nf4 && !lora) continue;
      DecoderOptions options;
      options.dtype = at::kBFloat16;
      options.nf4 = nf4;
      if (lora) options.lora = LoraOptions{4, 8, 0, targetRoles("qvo_mlp").value()};
      REQUIRE(toString(checkOptions(config, options)).empty());
      Decoder empty(config, options, 1, none), drawn(config, options, 1, randomSource(at::kFloat));
      for (const TensorSpec& spec : weightSpecs(config)) {
        const at::Tensor weight = empty.weight(spec);
        CHECK(weight.device().is_cpu());
        CHECK(weight.sizes() == drawn.weight(spec).sizes());
        CHECK((weight.scalar_type() == drawn.weight(spec).scalar_type()));
      }
      REQUIRE(empty.trainable().size() == drawn.trainable().size());
      for (size_t i = 0; i < empty.trainable().size(); ++i) {
        CHECK(empty.trainable()[i].name == drawn.trainable()[i].name);
        CHECK(empty.trainable()[i].tensor.sizes() == drawn.trainable()[i].tensor.sizes());
        CHECK(empty.trainable()[i].tensor.requires_grad());
      }
    }
}

TEST_CASE("long waves are stretched as in Llama 3.1") {
  Config config = namedConfig("llama3_8b").value();
  const at::Tensor plain = ropeFrequencies(config).to(at::kDouble);
  config.rope_scaling = RopeScaling{};
  const at::Tensor scaled = ropeFrequencies(config).to(at::kDouble);
  int kept = 0, divided = 0, between = 0;
  for (int64_t i = 0; i < 64; ++i) {
    const double theta = plain[i].item<double>(), wave = 2 * M_PI / theta, got = scaled[i].item<double>();
    double expected = theta / 8;
    if (wave < 2048) {
      expected = theta;
      ++kept;
    } else if (wave <= 8192) {
      const double s = (8192 / wave - 1) / 3;
      expected = theta * ((1 - s) / 8 + s);
      ++between;
    } else {
      ++divided;
    }
    CHECK(std::abs(got - expected) < 1e-6 * expected);
  }
  CHECK(kept > 0);
  CHECK(between > 0);
  CHECK(divided > 0);
}

TEST_CASE("the loss over labelled positions has the gradients of plain logits") {
  const Sequences input = someTokens();
  const Labelled labelled = labelledPositions(labelsOf(input));
  CHECK(labelled.count() == 3 * 5);
  for (const bool tied : {false, true}) {
    for (const bool checkpointing : {false, true}) {
      DecoderOptions options;
      options.dtype = at::kDouble;
      options.activation_checkpointing = checkpointing;
      Decoder decoder(smallConfig(tied), options, 1, randomSource(at::kDouble));
      CHECK(decoder.trainable().size() == (tied ? 20u : 21u));
      const auto own = ownGradients(decoder, input, labelled), plain = plainGradients(decoder, input, labelled);
      for (size_t i = 0; i < own.size(); ++i) {
        CAPTURE(decoder.trainable()[i].name);
        CHECK(largestDifference(own[i], plain[i]) < 1e-12);
      }
    }
  }
}

TEST_CASE("many positions are taken in chunks") {
  at::manual_seed(2);
  const int64_t n = 2 * kHeadChunk + 37;
  const at::Tensor x = at::randn({n, 8}, at::kDouble).requires_grad_(true),
                   head = at::randn({30, 8}, at::kDouble).requires_grad_(true),
                   targets = at::randint(30, {n}, at::kLong);
  const at::Tensor factor = at::randn({n}, at::kDouble);
  const at::Tensor each = at::log_softmax(at::linear(x, head), 1).gather(1, targets.unsqueeze(1)).squeeze(1);
  const auto sums = torch::autograd::grad({-3 * each.sum()}, {x, head}, {}, true);
  const auto own_sums = torch::autograd::grad({3 * headLossSum(x, head, targets)}, {x, head});
  const auto weighted = torch::autograd::grad({(factor * each).sum()}, {x, head});
  const at::Tensor own = headLogProbs(x, head, targets);
  CHECK(largestDifference(own, each) < 1e-12);
  const auto own_weighted = torch::autograd::grad({(factor * own).sum()}, {x, head});
  const at::Tensor frozen = headLogProbs(x, head.detach(), targets);
  const auto towards_x = torch::autograd::grad({(factor * frozen).sum()}, {x});
  for (size_t i = 0; i < 2; ++i) {
    CHECK(largestDifference(own_sums[i], sums[i]) < 1e-11);
    CHECK(largestDifference(own_weighted[i], weighted[i]) < 1e-11);
  }
  CHECK(largestDifference(towards_x[0], weighted[0]) < 1e-11);
}

TEST_CASE("adapters on every kind of product, the head too, have the gradients of plain operators") {
  at::manual_seed(4);
  const auto make = [](std::vector<int64_t> shape) { return at::randn(shape, at::kDouble); };
  const at::Tensor x = make({7, 6}).requires_grad_(true);
  const std::vector<FrozenWeight> weights = {{make({5, 6}), {}}, {make({3, 6}), {}}, {make({4, 6}), {}}};
  std::vector<Adapter> adapters = {{make({2, 6}), make({5, 2})}, {}, {make({2, 6}), make({4, 2})}};
  std::vector<at::Tensor> learnt = {x};
  for (const size_t i : {0, 2}) {
    adapters[i].scale = 0.7;
    learnt.push_back(adapters[i].a.requires_grad_(true));
    learnt.push_back(adapters[i].b.requires_grad_(true));
  }
  const auto scalar = [&](const std::vector<at::Tensor>& y) {
    return y[0].square().sum() + y[1].sin().sum() + y[2].square().sum();
  };
  const auto own = torch::autograd::grad({scalar(adaptedProducts(x, weights, adapters, {}))}, learnt);
  std::vector<at::Tensor> y;
  for (size_t i = 0; i < 3; ++i) {
    y.push_back(at::linear(x, weights[i].dense));
    if (adapters[i].defined()) y[i] = y[i] + 0.7 * at::linear(at::linear(x, adapters[i].a), adapters[i].b);
  }
  const auto plain = torch::autograd::grad({scalar(y)}, learnt);
  for (size_t i = 0; i < own.size(); ++i) CHECK(largestDifference(own[i], plain[i]) < 1e-11);

  const Sequences input = someTokens();
  const Labelled labelled = labelledPositions(labelsOf(input));
  DecoderOptions options;
  options.dtype = at::kDouble;
  options.lora = LoraOptions{2, 4, 0, targetRoles("qvo_mlp_head").value()};
  Decoder decoder(smallConfig(), options, 1, randomSource(at::kDouble));
  CHECK(decoder.trainable().size() == 2 * (2 * 6 + 1));
  for (const auto& entry : decoder.trainable()) {
    at::NoGradGuard no_grad;
    at::Tensor(entry.tensor).normal_();
  }
  const auto first = ownGradients(decoder, input, labelled), second = plainGradients(decoder, input, labelled);
  for (size_t i = 0; i < first.size(); ++i) CHECK(largestDifference(first[i], second[i]) < 1e-11);
}

TEST_CASE("dropout: the same draw in the backward pass and under checkpointing, none in evaluation") {
  // The gradient of a linear function of x is that function of the drop pattern: finite differences see it.
  at::manual_seed(6);
  const at::Tensor x = at::randn({50, 40}, at::kDouble).requires_grad_(true);
  const FrozenWeight weight{at::zeros({3, 40}, at::kDouble), {}};
  const Adapter adapter{at::randn({2, 40}, at::kDouble).requires_grad_(true),
                        at::randn({3, 2}, at::kDouble).requires_grad_(true)};
  const AdapterUse use{0.4, 99};
  const at::Tensor y = adaptedProducts(x, {weight}, {adapter}, use)[0];
  const auto gradients = torch::autograd::grad({y.sum()}, {x, adapter.a});
  CHECK(largestDifference((gradients[0] * x).sum(), y.sum()) < 1e-9);
  CHECK(largestDifference((gradients[1] * adapter.a).sum(), y.sum()) < 1e-9);
  const double share = (gradients[0] == 0).to(at::kDouble).mean().item<double>();
  CHECK(std::abs(share - 0.4) < 0.05);
  CHECK_FALSE(at::equal(y, adaptedProducts(x, {weight}, {adapter}, {0.4, 100})[0]));

  const Sequences input = someTokens();
  const Labelled labelled = labelledPositions(labelsOf(input));
  std::vector<std::vector<at::Tensor>> found;
  std::vector<double> evaluated;
  for (const bool checkpointing : {false, true}) {
    DecoderOptions options;
    options.dtype = at::kDouble;
    options.lora = LoraOptions{2, 4, 0.3, targetRoles("qvo_mlp").value()};
    options.activation_checkpointing = checkpointing;
    Decoder decoder(smallConfig(), options, 1, randomSource(at::kDouble));
    for (const auto& entry : decoder.trainable()) {
      at::NoGradGuard no_grad;
      at::Tensor(entry.tensor).fill_(0.1);
    }
    found.push_back(ownGradients(decoder, input, labelled));
    const at::Tensor next = decoder.lossSum(input, labelled);
    CHECK(largestDifference(next, decoder.lossSum(input, labelled)) > 0);
    decoder.setTraining(false);
    evaluated.push_back(decoder.lossSum(input, labelled).item<double>());
    CHECK(evaluated.back() == decoder.lossSum(input, labelled).item<double>());
  }
  for (size_t i = 0; i < found[0].size(); ++i) CHECK(largestDifference(found[0][i], found[1][i]) < 1e-12);
  CHECK(evaluated[0] == evaluated[1]);
}

TEST_CASE("NF4 under adapters merges into what was dequantised") {
  Config config = smallConfig();
  config.width = 128, config.heads = 4, config.kv_heads = 4, config.head_width = 32, config.mlp_width = 128;
  DecoderOptions options;
  options.lora = LoraOptions{2, 4, 0, targetRoles("qv").value()};
  options.nf4 = true;
  REQUIRE(toString(checkOptions(config, options)).empty());
  Decoder decoder(config, options, 1, randomSource(at::kFloat));
  for (const TensorSpec& spec : weightSpecs(config)) {
    CHECK(decoder.mergedWeight(spec).sizes() == at::IntArrayRef(spec.shape));
    if (!isBlockProduct(spec.role)) continue;
    const at::Tensor expected = dequantize(quantizeNf4(randomWeight(spec, 5, at::kFloat)), at::kBFloat16);
    CHECK(at::equal(decoder.mergedWeight(spec), expected));  // the adapters' second matrices are zero
  }
}

TEST_CASE("steps in every type lower the loss") {
  const Sequences input = someTokens();
  const Labelled labelled = labelledPositions(labelsOf(input));
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const bool lora : {false, true}) {
      CAPTURE(dtype);
      CAPTURE(lora);
      DecoderOptions options;
      options.dtype = dtype;
      if (lora) options.lora = LoraOptions{4, 8, 0, targetRoles("qkvo_mlp").value()};
      Decoder decoder(smallConfig(), options, 1, randomSource(dtype));
      Steps steps(optimizer::makeAdam(decoder.trainableTensors(), {1e-2, 0.9, 0.999, 1e-8, 0.01, true}),
                  decoder.trainableTensors(), std::nullopt, 1.0);
      std::vector<double> losses;
      for (int i = 0; i < 8; ++i) {
        steps.add(decoder.lossSum(input, labelled) / labelled.count());
        losses.push_back(steps.finish().loss.item<double>());
        REQUIRE(std::isfinite(losses.back()));
      }
      CHECK(losses.back() < losses.front() - 0.1);
    }
  }
}

TEST_CASE("one error lists why a model cannot be tuned so") {
  DecoderOptions options;
  options.max_length = 33;
  options.nf4 = true;
  options.qat = QatOptions{256, QuantCopies::Kept};
  const std::string error = toString(checkOptions(smallConfig(), options));
  for (const char* part : {"33 tokens", "NF4 without adapters", "multiples of 16384",
                           "group_size is 256, but its products have 32 and 64 inputs"}) {
    CAPTURE(error);
    CAPTURE(part);
    CHECK(error.find(part) != std::string::npos);
  }
  options = {};
  // One product that a group does not divide is enough: it would stay as it is.
  for (const auto& [group, fits] : {std::pair(32, true), std::pair(64, false)}) {
    options.qat = QatOptions{group, QuantCopies::Kept};
    CHECK(toString(checkOptions(smallConfig(), options)).empty() == fits);
  }
  options = {};
  options.lora = LoraOptions{2, 4, 0, targetRoles("qvo_mlp_head").value()};
  CHECK(toString(checkOptions(smallConfig(true), options)).find("embedding") != std::string::npos);
  CHECK(toString(checkOptions(smallConfig(false), options)).empty());
  CHECK_FALSE(targetRoles("all").has_value());
}

}  // namespace
}  // namespace expc::llama
