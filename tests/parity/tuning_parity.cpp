// golden/tuning: the options of llm.finetune beside peft 0.21, transformers 5.24 and TRL 1.16 (make_tuning.py).

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <tuple>

#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/steps.h"
#include "tests/parity/llama_fixture.h"
#include "tests/source_dir.h"
#include "tests/support/folder.h"

namespace expc::parity {
namespace {

using llama::Role;

struct Fixture {
  json::Value json = readJson("tuning/tuning.json");
  safetensors::File io = openTensors("llama_tiny/io.safetensors");
  at::Tensor tokens = tensorOf(io, "tokens").to(at::kLong), labels = tensorOf(io, "labels").to(at::kLong);
  at::Tensor other = tokens.flip(0).roll({3}, {1});
  const json::Object& object() const { return *json.getAsObject(); }
};

/// Two steps, then the loss on the other rows; compared with what the original found. `weights` are those of labels.
void checkSteps(const Fixture& fixture, llama::Decoder& decoder, const optimizer::AdamOptions& options,
                const json::Array& expected, const std::function<at::Tensor(const llama::Labelled&)>& loss,
                const at::Tensor& weights = {}) {
  llama::Steps steps(optimizer::makeAdam(decoder.trainableTensors(), options), decoder.trainableTensors(), std::nullopt,
                     0);
  const auto losses = numbers(expected);
  for (size_t i = 0; i < 2; ++i) {
    steps.add(loss(llama::labelledPositions(fixture.labels, weights)));
    CHECK(std::abs(steps.finish().loss.item<double>() - losses[i]) < 1e-6 * losses[i]);
  }
  at::NoGradGuard no_grad;
  const auto labelled = llama::labelledPositions(fixture.other, weights);
  const at::Tensor sum = decoder.lossSum({fixture.other, {}, {}}, labelled);
  const double held_out = (sum / labelled.perRow(fixture.other.size(0), at::kDouble).sum()).item<double>();
  CHECK(std::abs(held_out - losses[2]) < 1e-6 * losses[2]);
}

std::function<at::Tensor(const llama::Labelled&)> byTokens(const Fixture& fixture, llama::Decoder& decoder) {
  return [&](const llama::Labelled& labelled) -> at::Tensor {
    return decoder.lossSum({fixture.tokens, {}, {}}, labelled) / labelled.count();
  };
}

std::string folderOf(const std::string& name) {
  return expc::test::sourceDir() + "/tests/parity/golden/tuning/" + name;
}

llama::LoraOptions adaptersOf(const std::string& name) {
  llama::LoraOptions lora{.rank = 4, .alpha = 8};
  if (name == "rslora")
    lora.targets = llama::targetRoles("qkvo_mlp").value(), lora.rank_stabilised = true,
    lora.alphas = {{Role::Query, 32}};
  if (name == "dora") lora.targets = {Role::Query, Role::Value, Role::Down}, lora.dora = true;
  if (name == "layers") lora.targets = {Role::Query, Role::Output}, lora.layers = {1};
  if (name == "saved") lora.targets = {Role::Key, Role::Up}, lora.saved = {Role::Embedding, Role::Head};
  return lora;
}

std::string load(const std::string& folder, llama::Decoder& decoder) {
  return toString(llama::loadAdapter(folder, decoder));
}

TEST_CASE("adapters: peft's files are read, trained, merged and written alike") {
  const Fixture fixture;
  for (const auto& [key, expected] : *fixture.object().getObject("adapters")) {
    const std::string name = key.str();
    for (const bool checkpointing : {false, true}) {
      CAPTURE(name);
      CAPTURE(checkpointing);
      llama::DecoderOptions options;
      options.lora = adaptersOf(name);
      options.activation_checkpointing = checkpointing;
      const auto decoder = tinyDecoder(options);
      REQUIRE(load(folderOf(name), *decoder) == "");
      checkSteps(fixture, *decoder, {.learning_rate = 1e-3, .weight_decay = 0.01, .decoupled = true},
                 *expected.getAsArray(), byTokens(fixture, *decoder));
      const auto merged = openTensors("tuning/" + name + "/merged.safetensors");
      for (const auto& spec : llama::weightSpecs(decoder->config()))
        if (spec.name == "layers.1.attn.q_proj.weight" || spec.name == "layers.1.mlp.w3.weight" ||
            spec.name == "layers.0.mlp.w2.weight")
          CHECK(difference(decoder->mergedWeight(spec), tuneTensor(merged, "", spec.name)) < 5e-6);
      // The file has what was trained.
      const expc::test::TestFolder folder;
      REQUIRE(toString(llama::saveAdapter(folder.path, *decoder, "")) == "");
      const auto again = tinyDecoder(options);
      REQUIRE(load(folder.path, *again) == "");
      for (size_t i = 0; i < again->trainable().size(); ++i)
        CHECK(at::equal(again->trainable()[i].tensor, decoder->trainable()[i].tensor));
    }
  }
}

TEST_CASE("adapters: a file for other options than the study's is refused by its field") {
  const std::pair<const char*, const char*> fields[] = {{"rslora", "use_rslora"},
                                                        {"rslora", "alpha_pattern"},
                                                        {"dora", "use_dora"},
                                                        {"layers", "layers_to_transform"},
                                                        {"saved", "modules_to_save"}};
  for (const auto& [name, field] : fields) {
    CAPTURE(field);
    llama::DecoderOptions options;
    options.lora = adaptersOf(name);
    options.lora->rank_stabilised = options.lora->dora = false;
    options.lora->alphas = {};
    options.lora->layers = {};
    options.lora->saved = {};
    CHECK(load(folderOf(name), *tinyDecoder(options)).find(field) != std::string::npos);
  }
}

TEST_CASE("adapters: DoRA begins with the base model, and its magnitudes with NF4 too") {
  llama::DecoderOptions options;
  options.lora = adaptersOf("dora");
  const Fixture fixture;
  const auto decoder = tinyDecoder(options), plain = tinyDecoder({});
  const llama::Sequences input{fixture.tokens, {}, {}};
  CHECK(difference(decoder->hidden(input), plain->hidden(input)) < 1e-5);
}

TEST_CASE("steps: betas, epsilon, and a decay that leaves norms alone are those of two groups of AdamW") {
  const Fixture fixture;
  const auto decoder = tinyDecoder({});
  checkSteps(fixture, *decoder,
             {.learning_rate = 1e-3,
              .beta1 = 0.8,
              .beta2 = 0.95,
              .epsilon = 1e-6,
              .weight_decay = 0.5,
              .decoupled = true,
              .undecayed = decoder->norms()},
             *fixture.object().getArray("decay_by_group"), byTokens(fixture, *decoder));
}

TEST_CASE("steps: a loss by rows is the mean of the rows' means") {
  const Fixture fixture;
  const auto decoder = tinyDecoder({});
  checkSteps(fixture, *decoder, {.learning_rate = 1e-3, .decoupled = true}, *fixture.object().getArray("by_rows"),
             [&](const llama::Labelled& labelled) {
               const auto sums = decoder->rowLogProbs({fixture.tokens, {}, {}}, labelled);
               return -(sums / labelled.perRow(sums.size(0), at::kFloat)).mean();
             });
}

TEST_CASE("steps: weighted losses are torch's cross entropy times weights, over the sum of the weights") {
  const Fixture fixture;
  const auto& golden = *fixture.object().getObject("weighted");
  const at::Tensor of_rows = at::tensor(numbers(*golden.getArray("rows")), at::kDouble);
  const at::Tensor of_columns = at::tensor(numbers(*golden.getArray("columns")), at::kDouble);
  const at::Tensor weights = of_rows.unsqueeze(1) * of_columns;
  const llama::Sequences input{fixture.tokens, {}, {}};
  const auto check = [&](const char* key, llama::Decoder& decoder,
                         const std::function<at::Tensor(const llama::Labelled&)>& loss) {
    CAPTURE(key);
    checkSteps(fixture, decoder, {.learning_rate = 1e-3, .decoupled = true}, *golden.getArray(key), loss, weights);
  };
  const auto decoder = tinyDecoder({}), again = tinyDecoder({});
  check("tokens", *decoder, [&](const llama::Labelled& labelled) -> at::Tensor {
    return decoder->lossSum(input, labelled) / labelled.perRow(weights.size(0), at::kDouble).sum().item<double>();
  });
  check("by_rows", *again, [&](const llama::Labelled& labelled) {
    const auto sums = again->rowLogProbs(input, labelled);
    return -(sums / labelled.perRow(sums.size(0), at::kFloat) * of_rows.to(at::kFloat)).sum() /
           of_rows.sum().item<double>();
  });
}

TEST_CASE("schedules are those of transformers") {
  const Fixture fixture;
  using Kind = optimizer::WarmupSchedule::Kind;
  const std::tuple<const char*, Kind, double> cases[] = {{"constant", Kind::Constant, 0},
                                                         {"linear", Kind::Linear, 0},
                                                         {"cosine", Kind::Cosine, 0.1},
                                                         {"wsd", Kind::StableDecay, 0}};
  for (const auto& [name, kind, floor] : cases) {
    CAPTURE(name);
    const optimizer::WarmupSchedule schedule{
        .base = 2, .warmup_steps = 3, .total_steps = 20, .kind = kind, .floor = floor, .decay_steps = 5};
    const auto rates = numbers(*fixture.object().getObject("rates")->getArray(name));
    for (size_t i = 0; i < rates.size(); ++i) CHECK(std::abs(schedule.rate(int64_t(i)) - 2 * rates[i]) < 1e-12);
  }
}

TEST_CASE("preferences: losses and gradients are TRL's in fp64") {
  const Fixture fixture;
  const auto& all = *fixture.object().getObject("preferences");
  const auto tensor = [](const json::Object& object, const char* key) {
    return at::tensor(numbers(*object.getArray(key)), at::kDouble);
  };
  for (const auto& value : *all.getArray("variants")) {
    const auto& variant = *value.getAsObject();
    const StringRef name = *variant.getString("loss");
    CAPTURE(name.str());
    const bool ipo = name == "ipo";
    const llama::DpoOptions options{ipo ? llama::DpoOptions::Kind::Ipo : llama::DpoOptions::Kind::Sigmoid,
                                    all.getNumber("beta").value(), variant.getNumber("smoothing").value(),
                                    ipo || name == "sigmoid_norm"};
    const at::Tensor policy = tensor(all, "policy").requires_grad_(true);
    const auto result = llama::dpo(policy, tensor(all, "reference"), options, tensor(all, "lengths"));
    CHECK(difference(result.losses, tensor(variant, "losses")) < 1e-12);
    torch::autograd::backward({result.losses.mean()});
    CHECK(difference(policy.grad(), tensor(variant, "gradient")) < 1e-12);
  }
}

}  // namespace
}  // namespace expc::parity
