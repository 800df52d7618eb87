#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "runtime/worker/llama/fake_quant.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/llama/steps.h"
#include "tests/parity/llama_fixture.h"

// golden/qat.safetensors and qat_tiny: torchao 0.12 and torchtune 0.6.1. Rounding decisions must be the original's, so
// rounded values and their gradients are compared for equality.

namespace expc::parity {
namespace {

TEST_CASE("qat: rounded activations and weights, and their gradients") {
  const auto file = openTensors("qat.safetensors");
  auto x = tensorOf(file, "act.x").requires_grad_(true);
  const auto activation = llama::fakeQuantActivation(x);
  CHECK(at::equal(activation, tensorOf(file, "act.fq")));
  torch::autograd::backward({activation}, {tensorOf(file, "act.grad_out")});
  CHECK(at::equal(x.grad(), tensorOf(file, "act.grad_in")));

  auto w = tensorOf(file, "w.w").requires_grad_(true);
  const auto weight = llama::fakeQuantWeight(w, 32);
  CHECK(at::equal(weight, tensorOf(file, "w.fq")));
  torch::autograd::backward({weight}, {tensorOf(file, "w.grad_out")});
  CHECK(at::equal(w.grad(), tensorOf(file, "w.grad_in")));
  // The fixture has values that the clamp cuts off.
  CHECK(((w.grad() == 0) & (tensorOf(file, "w.grad_out") != 0)).any().item<bool>());

  CHECK(
      at::equal(llama::fakeQuantActivation(tensorOf(file, "act.x").to(at::kBFloat16)), tensorOf(file, "bf16.act_fq")));
  CHECK(at::equal(llama::fakeQuantWeight(tensorOf(file, "w.w").to(at::kBFloat16), 32), tensorOf(file, "bf16.w_fq")));
}

TEST_CASE("qat: products with copies kept and made again, and converted weights") {
  const auto file = openTensors("qat.safetensors");
  std::vector<at::Tensor> found;
  for (const auto copies : {llama::QuantCopies::Recomputed, llama::QuantCopies::Kept}) {
    auto x = tensorOf(file, "act.x").view({10, 64}).requires_grad_(true);
    auto w = tensorOf(file, "w.w").requires_grad_(true), other = tensorOf(file, "w.w").requires_grad_(true);
    const auto y = llama::fakeQuantProducts(x, {w}, 32, copies)[0];
    CHECK(relativeDifference(y, tensorOf(file, "lin.y").view({10, 16})) < 1e-6);
    torch::autograd::backward({y}, {tensorOf(file, "lin.grad_y").view({10, 16})});
    CHECK(difference(x.grad(), tensorOf(file, "lin.grad_x").view({10, 64})) < 1e-5);
    CHECK(difference(w.grad(), tensorOf(file, "lin.grad_w")) < 2e-5);
    found.push_back(x.grad().clone());
    found.push_back(w.grad().clone());
    // Two products of one input add up.
    x.mutable_grad().reset();
    const auto both = llama::fakeQuantProducts(x, {w, other}, 32, copies);
    CHECK(at::equal(both[0], both[1]));
    const auto gradient = tensorOf(file, "lin.grad_y").view({10, 16});
    torch::autograd::backward({both[0], both[1]}, {gradient, gradient});
    CHECK(difference(x.grad(), 2 * tensorOf(file, "lin.grad_x").view({10, 64})) < 2e-5);
    CHECK(difference(other.grad(), tensorOf(file, "lin.grad_w")) < 2e-5);
  }
  CHECK(at::equal(found[0], found[2]));
  CHECK(at::equal(found[1], found[3]));
  const auto converted = llama::convertToInt4(tensorOf(file, "w.w"), 32);
  CHECK(at::equal(converted.values, tensorOf(file, "conv.weight_int8")));
  CHECK(at::equal(converted.scales, tensorOf(file, "conv.scales")));
  const auto x = tensorOf(file, "act.x").view({10, 64});
  CHECK(relativeDifference(llama::int4Product(x, converted), tensorOf(file, "conv.y").view({10, 16})) < 1e-6);
  CHECK(at::equal(llama::int4Product(x, converted),
                  llama::fakeQuantProducts(x, {tensorOf(file, "w.w")}, 32, llama::QuantCopies::Recomputed)[0]));
  const auto half = llama::convertToInt4(tensorOf(file, "w.w").to(at::kBFloat16), 32);
  CHECK(at::equal(half.values, tensorOf(file, "bf16.conv.weight_int8")));
  CHECK(at::equal(half.scales, tensorOf(file, "bf16.conv.scales")));
}

TEST_CASE("qat: a whole model, switched on after two steps, and converted") {
  const auto base = openTensors("llama_tiny/io.safetensors"), file = openTensors("qat_tiny.safetensors");
  const auto json = readJson("qat_tiny.json");
  const auto& object = *json.getAsObject();
  const llama::Sequences input{tensorOf(base, "tokens"), {}, {}};
  const auto labels = tensorOf(base, "labels");
  const auto labelled = llama::labelledPositions(labels);
  for (const auto copies : {llama::QuantCopies::Recomputed, llama::QuantCopies::Kept}) {
    for (const bool checkpointing : {false, true}) {
      llama::DecoderOptions options;
      options.qat = llama::QatOptions{32, copies};
      options.activation_checkpointing = checkpointing;
      const auto decoder = tinyDecoder(options);
      CHECK(decoder->fakeQuantized() == object.getArray("swapped_modules")->size());
      const auto logits = [&] { return decoder->logits(decoder->hidden(input)).view({2, 12, 128}); };
      CHECK(difference(logits(), tensorOf(file, "logits_prepared")) < 1e-5);
      const double loss = meanLossBackward(*decoder, input, labels);
      CHECK(std::abs(loss - object.getNumber("loss_fake_quant_on_step0").value()) < 1e-5);
      const auto& norms = *object.getObject("grad_l2_fq_on");
      for (const auto& entry : decoder->trainable()) {
        CAPTURE(entry.name);
        const double norm = norms.getNumber(llama::huggingFaceName(entry.name).value()).value();
        CHECK(std::abs(entry.tensor.grad().norm().item<double>() - norm) < 2e-5 * norm);
        if (entry.name == "output.weight")
          CHECK(relativeDifference(entry.tensor.grad().narrow(0, 0, 16), tensorOf(file, "grad.lm_head.weight")) < 2e-5);
        if (entry.name == "layers.0.attn.v_proj.weight")
          CHECK(relativeDifference(entry.tensor.grad(), tuneTensor(file, "grad.", entry.name)) < 2e-5);
      }

      llama::Steps steps(optimizer::makeAdam(decoder->trainableTensors(), {2e-5, 0.9, 0.999, 1e-8, 0.01, true}),
                         decoder->trainableTensors(), std::nullopt, 0);
      steps.optimizer().zeroGrad();
      const auto losses = numbers(*object.getArray("losses_adamw_lr2e-5"));
      for (size_t i = 0; i < losses.size(); ++i) {
        decoder->setFakeQuant(steps.done() >= object.getInteger("fake_quant_after_n_steps").value());
        steps.add(decoder->lossSum(input, labelled) / labelled.count());
        // A single rounding decided otherwise shifts what follows.
        CHECK(std::abs(steps.finish().loss.item<double>() - losses[i]) < (i < 2 ? 1e-5 : 5e-3));
      }

      // Converted, it computes what it computed prepared.
      const auto prepared = logits();
      decoder->convertToInt4();
      CHECK(at::equal(logits(), prepared));
      CHECK(decoder->trainable().empty());
      const auto state = stateOf(*decoder);
      CHECK(state.size() == 21 + 2 * decoder->fakeQuantized());
    }
  }
  llama::DecoderOptions options;
  options.qat = llama::QatOptions{32, llama::QuantCopies::Recomputed};
  const auto decoder = tinyDecoder(options);
  decoder->convertToInt4();
  CHECK(difference(decoder->logits(decoder->hidden(input)).view({2, 12, 128}), tensorOf(file, "logits_converted")) <
        1e-5);
}

}  // namespace
}  // namespace expc::parity
