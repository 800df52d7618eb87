#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "runtime/base/format.h"
#include "runtime/worker/llama/steps.h"
#include "tests/parity/llama_fixture.h"

// golden/nf4.safetensors and qlora_tiny: torchao 0.12 and torchtune 0.6.1; what is stored must equal it bit for bit.

namespace expc::parity {
namespace {

llama::Nf4 stored(const safetensors::File& file, const std::string& tag, const at::Tensor& weight) {
  return {tensorOf(file, tag + ".quantized_data"),
          tensorOf(file, tag + ".quantized_scalers"),
          tensorOf(file, tag + ".quantization_factor"),
          tensorOf(file, tag + ".scaler_mean").squeeze(),
          weight.size(0),
          weight.size(1)};
}

TEST_CASE("nf4: codes, scales, factors and mean are torchao's, bit for bit") {
  const auto file = openTensors("nf4.safetensors");
  for (const std::string tag : {"fp32", "bf16"}) {
    CAPTURE(tag);
    const auto weight = tensorOf(file, tag + ".weight");
    const auto own = llama::quantizeNf4(weight), expected = stored(file, tag, weight);
    CHECK(at::equal(own.packed, expected.packed));
    CHECK(at::equal(own.scales, expected.scales));
    CHECK(at::equal(own.factors, expected.factors));
    CHECK(own.mean.item<double>() == expected.mean.item<double>());
    CHECK((own.type() == weight.scalar_type()));
    CHECK(own.bytes() ==
          weight.numel() / 2 + weight.numel() / 64 + (weight.numel() / 16384 + 1) * int64_t(weight.element_size()));
    CHECK(at::equal(llama::dequantize(own, weight.scalar_type()), tensorOf(file, tag + ".dequant")));
    // Into another type: what was stored, cast.
    CHECK(difference(llama::dequantize(own, at::kDouble), tensorOf(file, tag + ".dequant")) == 0);
  }
}

TEST_CASE("nf4: a large weight is searched in parts") {
  at::manual_seed(3);
  const auto weight = at::randn({300, 16384});
  const auto all = llama::quantizeNf4(weight);
  const auto values = llama::dequantize(all, at::kFloat);
  // Nearest codes: within half of the widest step (0.3038) of a block's largest value, and the scale's own rounding.
  const auto largest = weight.view({-1, 64}).abs().amax(1, true);
  CHECK(((values - weight).view({-1, 64}).abs() / largest).max().item<double>() < 0.17);
}

TEST_CASE("nf4: products with and without adapters") {
  const auto file = openTensors("nf4.safetensors");
  const auto linear = llama::FrozenWeight{{}, llama::quantizeNf4(tensorOf(file, "fp32.weight"))};
  auto x = tensorOf(file, "linear.x").view({6, 256}).requires_grad_(true);
  const auto y = llama::adaptedProducts(x, {linear}, {{}}, {})[0];
  CHECK(difference(y, tensorOf(file, "linear.y").view({6, 128})) < 2e-5);
  torch::autograd::backward({y}, {tensorOf(file, "linear.grad_y").view({6, 128})});
  CHECK(difference(x.grad(), tensorOf(file, "linear.grad_x").view({6, 256})) < 2e-5);

  const std::pair<const char*, at::ScalarType> cases[] = {{"lora32", at::kFloat}, {"lora16", at::kBFloat16}};
  for (const auto& [tag, type] : cases) {
    CAPTURE(tag);
    const double tolerance = type == at::kFloat ? 2e-5 : 3e-2;
    const auto in = [&](const char* name) { return tensorOf(file, std::string("lora.") + name).to(type); };
    const auto out = [&](const char* name) { return tensorOf(file, fmt::format("{}.{}", tag, name)); };
    const auto base = llama::FrozenWeight{{}, llama::quantizeNf4(in("base"))};
    auto input = in("x").requires_grad_(true);
    const llama::Adapter adapter{in("a").requires_grad_(true), in("b").requires_grad_(true), 2.0};
    const auto result = llama::adaptedProducts(input, {base}, {adapter}, {})[0];
    CHECK(relativeDifference(result, out("y")) < tolerance);
    torch::autograd::backward({result}, {in("grad_y")});
    CHECK(relativeDifference(input.grad(), out("grad_x")) < tolerance);
    CHECK(relativeDifference(adapter.a.grad(), out("grad_a")) < tolerance);
    CHECK(relativeDifference(adapter.b.grad(), out("grad_b")) < tolerance);
  }
}

TEST_CASE("qlora: logits, gradients, three steps") {
  const auto file = openTensors("qlora_tiny.safetensors");
  const auto json = readJson("qlora_tiny.json");
  llama::Config config;
  config.vocabulary = 64, config.layers = 1, config.heads = 4, config.kv_heads = 4, config.head_width = 32;
  config.width = 128, config.mlp_width = 128, config.max_positions = 32;
  for (const bool checkpointing : {false, true}) {
    llama::DecoderOptions options;
    options.lora = llama::LoraOptions{4, 8, 0, llama::targetRoles("qvo_mlp").value()};
    options.nf4 = true;
    options.activation_checkpointing = checkpointing;
    REQUIRE(toString(llama::checkOptions(config, options)).empty());
    // The original quantised after an upcast.
    llama::Decoder decoder(config, options, 1, [&](const llama::TensorSpec& spec, int64_t first, int64_t count) {
      return tensorOf(file, "base." + spec.name).to(at::kFloat).flatten().narrow(0, first, count);
    });
    for (const auto& entry : decoder.adapters()) {
      at::NoGradGuard no_grad;
      at::Tensor(entry.tensor).copy_(tensorOf(file, "lora." + entry.name));
    }
    const llama::Sequences input{tensorOf(file, "tokens"), {}, {}};
    CHECK(difference(decoder.logits(decoder.hidden(input)).view({2, 10, 64}), tensorOf(file, "logits")) < 1e-5);
    meanLossBackward(decoder, input, tensorOf(file, "labels"));
    int compared = 0;
    for (const auto& entry : decoder.trainable()) {
      if (file.find("grad." + entry.name) == nullptr) continue;
      CAPTURE(entry.name);
      CHECK(relativeDifference(entry.tensor.grad(), tensorOf(file, "grad." + entry.name)) < 2e-5);
      ++compared;
    }
    CHECK(compared == 4);
    llama::Steps steps(optimizer::makeAdam(decoder.trainableTensors(), {3e-3, 0.9, 0.999, 1e-8, 0.01, true}),
                       decoder.trainableTensors(), std::nullopt, 0);
    steps.optimizer().zeroGrad();
    const auto labelled = llama::labelledPositions(tensorOf(file, "labels"));
    const auto losses = numbers(*json.getAsObject()->getArray("losses"));
    for (int i = 0; i < 3; ++i) {
      steps.add(decoder.lossSum(input, labelled) / labelled.count());
      CHECK(std::abs(steps.finish().loss.item<double>() - losses[i]) < 3e-5);
    }
    at::NoGradGuard no_grad;
    CHECK(std::abs(decoder.lossSum(input, labelled).item<double>() / labelled.count() - losses[3]) < 3e-5);
    for (const auto& entry : decoder.trainable())
      if (entry.name == "layers.0.attn.v_proj.lora_b.weight")
        CHECK(difference(entry.tensor, tensorOf(file, "after3." + entry.name)) < 5e-5);
  }
}

}  // namespace
}  // namespace expc::parity
