#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/llama/greedy.h"
#include "runtime/worker/llama/head_loss.h"
#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/steps.h"
#include "tests/parity/llama_fixture.h"

// golden/llama_tiny: torchtune 0.6.1 in fp32; tolerances are those that two correct fp32 implementations meet, and fp64
// is held to the same ones, since the fixture's own rounding is in the difference.

namespace expc::parity {
namespace {

struct LlamaFixture {
  safetensors::File file = openTensors("llama_tiny/io.safetensors");
  json::Value json = readJson("llama_tiny/io.json");
  llama::Sequences input{tensorOf(file, "tokens"), {}, {}};
  at::Tensor labels = tensorOf(file, "labels");
  double number(const char* name) const { return json.getAsObject()->getNumber(name).value(); }
};

llama::DecoderOptions full(at::ScalarType dtype, bool checkpointing = false) {
  llama::DecoderOptions options;
  options.dtype = dtype;
  options.activation_checkpointing = checkpointing;
  return options;
}

/// The lengths of the samples of which a mask [rows, length, length] lets each token see its own, up to itself.
std::vector<int64_t> samplesOf(const at::Tensor& mask) {
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < mask.size(0); ++row)
    for (int64_t token = 0; token < mask.size(1); ++token) {
      if (token == 0 || !mask[row][token][token - 1].item<bool>()) lengths.push_back(0);
      ++lengths.back();
    }
  return lengths;
}

TEST_CASE("llama: rows of q and k in torchtune's order") {
  const LlamaFixture fixture;
  const auto decoder = tinyDecoder(full(at::kFloat));
  for (const auto& entry : decoder->trainable())
    if (entry.name == "layers.0.attn.k_proj.weight")
      CHECK(difference(entry.tensor, tensorOf(fixture.file, "tt.layers.0.attn.k_proj.weight")) == 0);
}

TEST_CASE("llama: logits, hidden state and packed documents") {
  const LlamaFixture fixture;
  at::NoGradGuard no_grad;
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    CAPTURE(dtype);
    const auto decoder = tinyDecoder(full(dtype));
    const auto hidden = decoder->hidden(fixture.input);
    CHECK(difference(hidden.view({2, 12, 64}), tensorOf(fixture.file, "hidden_norm")) < 1e-5);
    CHECK(difference(decoder->logits(hidden).view({2, 12, 128}), tensorOf(fixture.file, "logits")) < 1e-5);
    const llama::Sequences packed{tensorOf(fixture.file, "packed.tokens"),
                                  tensorOf(fixture.file, "packed.input_pos"),
                                  {samplesOf(tensorOf(fixture.file, "packed.mask").to(at::kBool)), {}}};
    const auto logits = decoder->logits(decoder->hidden(packed)).view({2, 12, 128});
    CHECK(difference(logits, tensorOf(fixture.file, "packed.logits")) < 1e-5);
    // A document in a pack is as it is alone.
    const llama::Sequences alone{packed.tokens.narrow(0, 0, 1).narrow(1, 5, 4), {}, {}};
    CHECK(difference(decoder->logits(decoder->hidden(alone)), logits[0].narrow(0, 5, 4)) < 1e-5);
    // Some positions only are the same rows.
    const auto some = at::tensor({3, 17, 23}, at::kLong);
    CHECK(difference(decoder->hidden(fixture.input, some), hidden.index_select(0, some)) < 1e-6);
  }
}

TEST_CASE("llama: bf16 and fp16") {
  const LlamaFixture fixture;
  for (const auto dtype : {at::kBFloat16, at::kHalf}) {
    CAPTURE(dtype);
    const auto decoder = tinyDecoder(full(dtype));
    CHECK(difference(decoder->logits(decoder->hidden(fixture.input)).view({2, 12, 128}),
                     tensorOf(fixture.file, "logits_bf16_model")) < 0.15);
    CHECK(std::abs(meanLossBackward(*decoder, fixture.input, fixture.labels) - fixture.number("loss_plain")) < 0.05);
    const auto reference = tinyDecoder(full(at::kFloat));
    meanLossBackward(*reference, fixture.input, fixture.labels);
    for (size_t i = 0; i < decoder->trainable().size(); ++i) {
      CAPTURE(decoder->trainable()[i].name);
      const auto& tensor = decoder->trainable()[i].tensor;
      CHECK((tensor.grad().scalar_type() == dtype));
      CHECK(relativeDifference(tensor.grad(), reference->trainable()[i].tensor.grad()) < 0.1);
    }
  }
}

TEST_CASE("llama: loss and gradients of every weight, with and without checkpointing") {
  const LlamaFixture fixture;
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    for (const bool checkpointing : {false, true}) {
      CAPTURE(dtype);
      CAPTURE(checkpointing);
      const auto decoder = tinyDecoder(full(dtype, checkpointing));
      CHECK(llama::labelledPositions(fixture.labels).count() == fixture.number("n_unmasked"));
      const double loss = meanLossBackward(*decoder, fixture.input, fixture.labels);
      CHECK(std::abs(loss - fixture.number("loss_chunked")) < 2e-6);
      const auto& norms = *fixture.json.getAsObject()->getObject("grad_l2");
      CHECK(norms.size() == decoder->trainable().size());
      for (const auto& entry : decoder->trainable()) {
        CAPTURE(entry.name);
        const std::string name = llama::huggingFaceName(entry.name).value();
        const double norm = norms.getNumber(name).value();
        CHECK(std::abs(entry.tensor.grad().norm().item<double>() - norm) < 1e-5 * norm);
        if (fixture.file.find("grad.hf." + name) != nullptr)
          CHECK(relativeDifference(entry.tensor.grad(), tuneTensor(fixture.file, "grad.hf.", entry.name)) < 1e-5);
      }
    }
  }
}

TEST_CASE("llama: three steps of AdamW over all weights") {
  const LlamaFixture fixture;
  const auto& expected = *fixture.json.getAsObject()->getObject("full_ft");
  const auto losses = numbers(*expected.getArray("losses"));
  const auto labelled = llama::labelledPositions(fixture.labels);
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    CAPTURE(dtype);
    const auto decoder = tinyDecoder(full(dtype));
    llama::Steps steps(optimizer::makeAdam(decoder->trainableTensors(), {1e-3, 0.9, 0.999, 1e-8, 0.01, true}),
                       decoder->trainableTensors(), std::nullopt, 0);
    for (int i = 0; i < 3; ++i) {
      steps.add(decoder->lossSum(fixture.input, labelled) / labelled.count());
      CHECK(std::abs(steps.finish().loss.item<double>() - losses[i]) < 2e-5);
    }
    CHECK(steps.done() == 3);
    at::NoGradGuard no_grad;
    CHECK(std::abs(decoder->lossSum(fixture.input, labelled).item<double>() / labelled.count() - losses[3]) < 2e-5);
    for (const auto& [name, value] : *expected.getObject("param_l2_after_3")) {
      const double norm = value.getAsNumber().value();
      for (const auto& entry : decoder->trainable())
        if (llama::huggingFaceName(entry.name) == name.str())
          CHECK(std::abs(entry.tensor.norm().item<double>() - norm) < 1e-5 * norm);
    }
  }
}

TEST_CASE("llama: rotation and norm alone") {
  const LlamaFixture fixture;
  llama::Config config = tinyConfig();
  config.max_positions = 8192;
  CHECK(difference(llama::ropeFrequencies(config), tensorOf(fixture.file, "rope.theta")) == 0);
  const auto x = tensorOf(fixture.file, "rope.x");
  const llama::Rope rope(config, 8192, at::kFloat, at::kCPU);
  CHECK(difference(llama::turn(x, rope.rotations({}, 6)), tensorOf(fixture.file, "rope.y_default_positions")) < 1e-6);
  CHECK(difference(llama::turn(x, rope.rotations(tensorOf(fixture.file, "rope.pos"), 6)),
                   tensorOf(fixture.file, "rope.y_pos")) < 1e-6);
  const auto last = at::view_as_real(rope.rotations(at::tensor({8191}, at::kLong), 1).view({8}));
  CHECK(difference(last, tensorOf(fixture.file, "rope.cos_sin_at_8191")) < 1e-6);
  const auto y = llama::rmsNorm(tensorOf(fixture.file, "rms.x"), tensorOf(fixture.file, "rms.scale"), 1e-5);
  CHECK(difference(y, tensorOf(fixture.file, "rms.y")) < 1e-6);
  const auto half = llama::rmsNorm(tensorOf(fixture.file, "rms.x").to(at::kBFloat16),
                                   tensorOf(fixture.file, "rms.scale").to(at::kBFloat16), 1e-5);
  CHECK(relativeDifference(half, tensorOf(fixture.file, "rms.y_bf16")) < 0x1p-7);
}

TEST_CASE("llama: the rate rises and then follows a cosine") {
  const auto json = readJson("optim.json");
  const auto& cases = *json.getAsObject()->getObject("cosine_lr");
  const auto check = [&](const char* name, int64_t warmup, int64_t total, double base) {
    const auto expected = numbers(*cases.getArray(name));
    const optimizer::WarmupSchedule schedule{base, warmup, total};
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs(schedule.rate(int64_t(i)) - base * expected[i]) < 1e-12);
  };
  check("warm100_total1000_first3", 100, 1000, 1);
  check("warm3_total10", 3, 10, 0.5);
  check("warm0_total4", 0, 4, 2);
}

/// Decodes greedily from each prompt of `json`, and compares the tokens and their log-probability.
void checkGreedy(llama::Decoder& decoder, const json::Value& json) {
  decoder.setTraining(false);
  at::NoGradGuard no_grad;
  for (const auto& one : *json.getAsObject()->getArray("cases")) {
    const json::Object& of = *one.getAsObject();
    const auto tokens = [&](const char* name) {
      std::vector<int64_t> all;
      for (const auto& token : *of.getArray(name)) all.push_back(*token.getAsInteger());
      return all;
    };
    const std::vector<int64_t> prompt = tokens("prompt"), wanted = tokens("added");
    const auto added = llama::greedy(
        decoder, prompt, [&](ArrayRef<int64_t> so_far) { return so_far.size() < wanted.size(); },
        [](int64_t token) { return token; });
    CHECK(added == wanted);
    std::vector<int64_t> all = prompt, labels(prompt.size(), -100);
    all.insert(all.end(), wanted.begin(), wanted.end());
    labels.insert(labels.end(), wanted.begin(), wanted.end());
    const double found = decoder
                             .rowLogProbs({at::tensor(all).unsqueeze(0), {}, {}},
                                          llama::labelledPositions(at::tensor(labels).unsqueeze(0)))
                             .item<double>();
    CHECK(found == doctest::Approx(*of.getNumber("log_prob")).epsilon(1e-5));
  }
}

TEST_CASE("llama: greedy decoding is transformers'") {
  for (const auto dtype : {at::kFloat, at::kDouble}) checkGreedy(*tinyDecoder(full(dtype)), readJson("greedy.json"));
}

TEST_CASE("llama: greedy decoding of a larger model is transformers'") {
  // A folder of make_greedy.py.
  const char* path = std::getenv("EXPC_GREEDY_MODEL");
  if (!path) return;
  auto folder = llama::Folder::open(path);
  if (!folder) FAIL(toString(folder.takeError()));
  llama::DecoderOptions options = full(at::kFloat);
  options.max_length = 64;
  llama::Decoder decoder(folder->config(), options, 1, folder->weights());
  auto text = files::map(std::string(path) + "/greedy.json");
  REQUIRE(text);
  auto json = json::parse((*text)->getBuffer());
  REQUIRE(json);
  checkGreedy(decoder, *json);
}

}  // namespace
}  // namespace expc::parity
