#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/base/format.h"
#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/llama/steps.h"
#include "tests/parity/llama_fixture.h"

// golden/lora_tiny: torchtune 0.6.1 in fp32, in PEFT's names and order of rows.

namespace expc::parity {
namespace {

struct LoraFixture {
  safetensors::File base = openTensors("llama_tiny/io.safetensors");
  safetensors::File file = openTensors("lora_tiny/io.safetensors");
  json::Value json = readJson("lora_tiny/io.json");
  llama::Sequences input{tensorOf(base, "tokens"), {}, {}};
  at::Tensor labels = tensorOf(base, "labels");
  const json::Object& object() const { return *json.getAsObject(); }
};

TEST_CASE("lora: logits with and without adapters, loss, gradients") {
  const LoraFixture fixture;
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    for (const bool checkpointing : {false, true}) {
      CAPTURE(dtype);
      CAPTURE(checkpointing);
      auto options = tinyLora(dtype);
      options.activation_checkpointing = checkpointing;
      const auto decoder = tinyAdapted(options);
      int64_t trained = 0;
      for (const auto& tensor : decoder->trainableTensors()) trained += tensor.numel();
      CHECK(trained == fixture.object().getInteger("n_trainable"));
      const auto logits = [&] { return decoder->logits(decoder->hidden(fixture.input)).view({2, 12, 128}); };
      CHECK(difference(logits(), tensorOf(fixture.file, "logits")) < 1e-5);
      decoder->setAdapters(false);
      CHECK(difference(logits(), tensorOf(fixture.file, "logits_disabled")) < 1e-5);
      decoder->setAdapters(true);
      const double loss = meanLossBackward(*decoder, fixture.input, fixture.labels);
      CHECK(std::abs(loss - fixture.object().getNumber("loss").value()) < 2e-6);
      for (const auto& entry : decoder->trainable()) {
        CAPTURE(entry.name);
        CHECK(relativeDifference(entry.tensor.grad(), tuneAdapter(fixture.file, "grad.", entry.name)) < 2e-5);
      }
    }
  }
}

TEST_CASE("lora: three steps, and the adapter merged") {
  const LoraFixture fixture;
  const auto losses = numbers(*fixture.object().getArray("losses_adamw_lr3e-3_wd0.01"));
  const auto labelled = llama::labelledPositions(fixture.labels);
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    CAPTURE(dtype);
    const auto decoder = tinyAdapted(tinyLora(dtype));
    llama::Steps steps(optimizer::makeAdam(decoder->trainableTensors(), {3e-3, 0.9, 0.999, 1e-8, 0.01, true}),
                       decoder->trainableTensors(), std::nullopt, 0);
    for (int i = 0; i < 3; ++i) {
      steps.add(decoder->lossSum(fixture.input, labelled) / labelled.count());
      CHECK(std::abs(steps.finish().loss.item<double>() - losses[i]) < 3e-5);
    }
    for (const auto& entry : decoder->trainable()) {
      CAPTURE(entry.name);
      CHECK(difference(entry.tensor, tuneAdapter(fixture.file, "after3.", entry.name)) < 5e-5);
    }
    for (const auto& spec : llama::weightSpecs(decoder->config()))
      if (spec.name == "layers.0.attn.q_proj.weight" || spec.name == "layers.1.mlp.w2.weight")
        CHECK(difference(decoder->mergedWeight(spec), tuneTensor(fixture.file, "merged3.", spec.name)) < 5e-5);
    at::NoGradGuard no_grad;
    CHECK(std::abs(decoder->lossSum(fixture.input, labelled).item<double>() / labelled.count() - losses[3]) < 3e-5);
    // The merged model without adapters is the adapted one.
    llama::DecoderOptions plain;
    plain.dtype = dtype;
    llama::Decoder merged(decoder->config(), plain, 1,
                          [&](const llama::TensorSpec& spec, int64_t first, int64_t count) {
                            return decoder->mergedWeight(spec).flatten().narrow(0, first, count);
                          });
    CHECK(difference(merged.hidden(fixture.input), decoder->hidden(fixture.input)) < 1e-5);
  }
}

TEST_CASE("lora: the recipe's loop: accumulation by tokens, clipping, warm-up and cosine") {
  const LoraFixture fixture;
  const auto& recipe = *fixture.object().getObject("recipe");
  const auto& expected = *recipe.getArray("steps");
  const auto decoder = tinyAdapted(tinyLora(at::kFloat), /*fresh=*/true);
  llama::Steps steps(optimizer::makeAdam(decoder->trainableTensors(), {1e-2, 0.9, 0.999, 1e-8, 0.01, true}),
                     decoder->trainableTensors(),
                     optimizer::WarmupSchedule{recipe.getNumber("lr").value(), recipe.getInteger("warmup").value(),
                                               recipe.getInteger("num_training_steps").value()},
                     recipe.getNumber("clip_grad_norm").value());
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& step = *expected[i].getAsObject();
    std::vector<llama::Labelled> passes;
    int64_t weight = 0;
    for (size_t j = 2 * i; j < 2 * i + 2; ++j) {
      passes.push_back(llama::labelledPositions(tensorOf(fixture.file, fmt::format("recipe.labels.{}", j))));
      weight += passes.back().count();
    }
    CHECK(weight == step.getInteger("num_tokens"));
    for (size_t j = 0; j < passes.size(); ++j) {
      const llama::Sequences input{tensorOf(fixture.file, fmt::format("recipe.tokens.{}", 2 * i + j)), {}, {}};
      steps.add(decoder->lossSum(input, passes[j]) / weight);
    }
    const auto result = steps.finish();
    CHECK(std::abs(result.loss.item<double>() - step.getNumber("loss").value()) < 3e-5);
    CHECK(std::abs(result.rate - step.getNumber("lr_used").value()) < 1e-12);
    CHECK(std::abs(result.gradient_norm.item<double>() - step.getNumber("grad_norm_preclip").value()) < 5e-5);
  }
  for (const auto& entry : decoder->trainable()) {
    if (entry.name.find("layers.0.") != 0) continue;  // the fixture has the first layer's
    CAPTURE(entry.name);
    CHECK(difference(entry.tensor, tuneAdapter(fixture.file, "recipe.final.", entry.name)) < 3e-4);
  }
}

}  // namespace
}  // namespace expc::parity
