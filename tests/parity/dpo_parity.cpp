#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/steps.h"
#include "tests/parity/llama_fixture.h"

// golden/dpo: torchtune 0.6.1 in fp32, adapters of golden/lora_tiny.

namespace expc::parity {
namespace {

struct DpoFixture {
  safetensors::File file = openTensors("dpo.safetensors");
  json::Value json = readJson("dpo.json");
  llama::Sequences input{tensorOf(file, "input_ids"), {}, {}};
  llama::Labelled labelled = llama::labelledPositions(tensorOf(file, "labels"));
  const json::Object& object() const { return *json.getAsObject(); }
};

TEST_CASE("dpo: log-probabilities, losses, rewards and gradients") {
  const DpoFixture fixture;
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const auto decoder = tinyAdapted(tinyLora(dtype));
    const auto policy = decoder->rowLogProbs(fixture.input, fixture.labelled);
    const auto reference = decoder->referenceLogProbs(fixture.input, fixture.labelled);
    CHECK(difference(policy, tensorOf(fixture.file, "policy_logps")) < 2e-5);
    CHECK(difference(reference, tensorOf(fixture.file, "ref_logps")) < 2e-5);
    CHECK_FALSE(reference.requires_grad());
    for (const auto& value : *fixture.object().getArray("variants")) {
      const auto& variant = *value.getAsObject();
      const auto number = [&](const char* key) { return variant.getNumber(key).value(); };
      const auto list = [&](const char* key) { return at::tensor(numbers(*variant.getArray(key)), at::kDouble); };
      const auto result =
          llama::dpo(policy, reference, {.beta = number("beta"), .smoothing = number("label_smoothing")});
      const at::Tensor losses = result.losses;
      CHECK(difference(losses, list("loss_per_pair")) < 3e-6);
      CHECK(std::abs(losses.mean().item<double>() - number("loss")) < 3e-6);
      CHECK(difference(result.chosen_rewards, list("chosen_rewards")) < 3e-6);
      CHECK(difference(result.rejected_rewards, list("rejected_rewards")) < 3e-6);
      CHECK(std::abs(result.accuracy() - number("accuracy")) < 1e-6);
      CHECK(std::abs(result.margin() - number("margin")) < 3e-6);
    }
    torch::autograd::backward({llama::dpo(policy, reference, {.beta = 0.1}).losses.mean()});
    for (const auto& entry : decoder->trainable()) {
      if (entry.name.find("layers.1.") != 0) continue;
      CAPTURE(entry.name);
      CHECK(relativeDifference(entry.tensor.grad(), tuneAdapter(fixture.file, "grad.", entry.name)) < 3e-5);
    }
  }
}

TEST_CASE("dpo: four steps; the reference is computed once") {
  const DpoFixture fixture;
  const auto& expected = *fixture.object().getArray("train_lr5e-3_wd0.05_beta0.1_B0");
  const auto decoder = tinyAdapted(tinyLora(at::kFloat), /*fresh=*/true);
  llama::Steps steps(optimizer::makeAdam(decoder->trainableTensors(), {5e-3, 0.9, 0.999, 1e-8, 0.05, true}),
                     decoder->trainableTensors(), std::nullopt, 0);
  llama::ReferenceLogProbs references(6);
  int computed = 0;
  for (const auto& value : expected) {
    const auto& step = *value.getAsObject();
    const auto reference = references.of({0, 1, 2, 3, 4, 5}, [&] {
      ++computed;
      return decoder->referenceLogProbs(fixture.input, fixture.labelled);
    });
    const auto result = llama::dpo(decoder->rowLogProbs(fixture.input, fixture.labelled), reference, {.beta = 0.1});
    CHECK(std::abs(result.chosen_rewards.mean().item<double>() - step.getNumber("chosen").value()) < 3e-5);
    CHECK(std::abs(result.rejected_rewards.mean().item<double>() - step.getNumber("rejected").value()) < 3e-5);
    CHECK(result.accuracy() == step.getNumber("acc").value());
    steps.add(result.losses.mean());
    CHECK(std::abs(steps.finish().loss.item<double>() - step.getNumber("loss").value()) < 3e-5);
  }
  CHECK(computed == 1);
  CHECK(references.known() == 6);
}

TEST_CASE("dpo: gradients of all weights are those of plain logits") {
  // The head is trained here: its logits are computed again in the backward pass.
  const DpoFixture fixture;
  const auto reference = at::zeros({6}, at::kDouble);
  llama::DecoderOptions options;
  options.dtype = at::kDouble;
  const auto own = tinyDecoder(options), plain = tinyDecoder(options);
  torch::autograd::backward(
      {llama::dpo(own->rowLogProbs(fixture.input, fixture.labelled), reference, {.beta = 0.05}).losses.mean()});
  const auto x = plain->hidden(fixture.input).index_select(0, fixture.labelled.positions);
  const auto each = at::log_softmax(plain->logits(x), 1).gather(1, fixture.labelled.targets.unsqueeze(1)).squeeze(1);
  const auto rows = at::zeros({6}, at::kDouble).index_add(0, fixture.labelled.rows, each);
  torch::autograd::backward({llama::dpo(rows, reference, {.beta = 0.05}).losses.mean()});
  for (size_t i = 0; i < own->trainable().size(); ++i) {
    CAPTURE(own->trainable()[i].name);
    CHECK(relativeDifference(own->trainable()[i].tensor.grad(), plain->trainable()[i].tensor.grad()) < 1e-12);
  }
}

}  // namespace
}  // namespace expc::parity
