#include "runtime/worker/llama/folder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

#include <fstream>
#include <set>

#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/model/state_file.h"
#include "tests/support/folder.h"

namespace expc::llama {
namespace {

using test::TestFolder;

Config tinyConfig() {
  Config c;
  c.vocabulary = 24, c.width = 16, c.layers = 2, c.heads = 4, c.kv_heads = 2, c.head_width = 4, c.mlp_width = 32;
  c.max_positions = 32;
  return c;
}

at::Tensor source(const TensorSpec& spec) { return randomWeight(spec, 7, at::kFloat); }

void write(const TestFolder& place, Naming naming, int64_t file_bytes, const Config& config = tinyConfig()) {
  const auto error = toString(writeFolder(place.path, config, source, at::kFloat, naming, file_bytes));
  REQUIRE_MESSAGE(error.empty(), error);
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string errorOf(const TestFolder& place) {
  auto folder = Folder::open(place.path);
  return folder ? "" : toString(folder.takeError());
}

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << text << "' does not contain '" << part << "'");
  return found;
}

TEST_CASE("a folder comes back as it was written: either's names, one file or several") {
  for (const Naming naming : {Naming::HuggingFace, Naming::Torchtune}) {
    for (const int64_t bytes : {int64_t{1} << 30, int64_t{4000}}) {
      const TestFolder place;
      write(place, naming, bytes);
      CHECK(llvm::sys::fs::exists(place / "model.safetensors") == (bytes > 4000));
      CHECK(llvm::sys::fs::exists(place / "model.safetensors.index.json") == (bytes == 4000));
      auto folder = Folder::open(place.path);
      REQUIRE(bool(folder));
      CHECK((folder->naming() == naming));
      const WeightSource parts = folder->weights();
      for (const TensorSpec& spec : weightSpecs(folder->config())) {
        const at::Tensor whole = source(spec).flatten();
        CHECK(at::equal(folder->read(spec), source(spec)));
        CHECK((folder->type(spec) == at::kFloat));
        for (const int64_t first : {int64_t{0}, whole.numel() / 3, whole.numel() - 5})
          for (const int64_t count : {int64_t{0}, int64_t{5}, (whole.numel() - first) / 2})
            CHECK(at::equal(parts(spec, first, count), whole.narrow(0, first, count)));
      }
    }
  }
  // Fewer files than before: the old index must be removed.
  const TestFolder place;
  write(place, Naming::HuggingFace, 4000);
  write(place, Naming::HuggingFace, 1 << 30);
  CHECK_FALSE(llvm::sys::fs::exists(place / "model.safetensors.index.json"));
  CHECK(errorOf(place).empty());
}

TEST_CASE("a tied head may be stored or not") {
  const TestFolder place;
  Config tied = tinyConfig();
  tied.tied = true;
  write(place, Naming::HuggingFace, 1 << 30, tied);
  CHECK(errorOf(place).empty());
  write(place, Naming::HuggingFace, 1 << 30);  // with a head of its own
  put(place / "config.json", llvm::formatv("{0}", json::Value(configToJson(tied, "float32"))).str());
  CHECK(errorOf(place).empty());
}

TEST_CASE("one error lists what does not fit") {
  const TestFolder place;
  CHECK(has(errorOf(place), "config.json"));
  write(place, Naming::HuggingFace, 1 << 30);
  Config other = tinyConfig();
  other.layers = 1;
  other.mlp_width = 48;
  put(place / "config.json", llvm::formatv("{0}", json::Value(configToJson(other, "float32"))).str());
  std::string error = errorOf(place);
  CHECK(has(error, "with another shape"));
  CHECK(has(error, "model.layers.0.mlp.down_proj.weight [16, 32] for [16, 48]"));
  CHECK(has(error, "9 not part of the model"));
  CHECK(has(error, "and 3 more"));

  // Whole numbers, and tensors that are missing.
  auto saved = model::saveState(place / "model.safetensors", {{"model.norm.weight", at::ones({16}, at::kInt)}});
  REQUIRE(bool(saved));
  error = errorOf(place);
  CHECK(has(error, "missing: model.embed_tokens.weight"));
  CHECK(has(error, "without floating-point numbers: model.norm.weight I32"));
  llvm::sys::fs::remove(place / "model.safetensors");
  CHECK(has(errorOf(place), "neither model.safetensors nor"));
  put(place / "config.json", "{]");
  CHECK(has(errorOf(place), "config.json"));
  put(place / "config.json", std::string(100000, '['));
  CHECK(has(errorOf(place), "config.json"));
}

TEST_CASE("an index opens nothing outside of its folder") {
  const TestFolder place;
  write(place, Naming::HuggingFace, 4000);
  const auto index = [&](const std::string& text) {
    put(place / "model.safetensors.index.json", text);
    return errorOf(place);
  };
  for (const char* name : {"../model.safetensors", "/etc/passwd", "..", "", "model.bin", "a/b.safetensors"})
    CHECK(
        has(index(R"({"weight_map": {"x": ")" + std::string(name) + R"("}})"), "expected the name of a .safetensors"));
  CHECK(has(index("{}"), "weight_map"));
  CHECK(has(index(R"({"weight_map": {}})"), "names no file"));
  CHECK(has(index(R"({"weight_map": {"x": 3}})"), "expected the name"));
  CHECK(has(index(R"({"weight_map": {"x": "gone.safetensors"}})"), "gone.safetensors"));
  // A tensor in two files is refused.
  TestFolder twice;
  write(twice, Naming::HuggingFace, 1 << 30);
  REQUIRE_FALSE(llvm::sys::fs::copy_file(twice / "model.safetensors", twice / "again.safetensors"));
  put(twice / "model.safetensors.index.json",
      R"({"weight_map": {"a": "model.safetensors", "b": "again.safetensors"}})");
  CHECK(has(errorOf(twice), "in more than one file: "));
  // A truncated file.
  put(twice / "again.safetensors", "12345678");
  CHECK(has(errorOf(twice), "again.safetensors"));
}

TEST_CASE("adapters come back as they were written; what differs is listed") {
  const TestFolder place;
  DecoderOptions options;
  options.lora = LoraOptions{2, 4, 0, targetRoles("qkvo_mlp").value()};
  const WeightSource weights = randomWeights(7, at::kFloat);
  Decoder first(tinyConfig(), options, 1, weights), second(tinyConfig(), options, 2, weights);
  {
    at::NoGradGuard no_grad;
    for (const auto& entry : first.adapters()) at::Tensor(entry.tensor).normal_();
  }
  REQUIRE(toString(saveAdapter(place.path, first, "base/model")).empty());
  REQUIRE(toString(loadAdapter(place.path, second)).empty());
  for (size_t i = 0; i < first.adapters().size(); ++i)
    CHECK(at::equal(first.adapters()[i].tensor, second.adapters()[i].tensor));
  auto file = safetensors::File::open(place / "adapter_model.safetensors");
  REQUIRE(bool(file));
  CHECK(file->find("base_model.model.model.layers.1.self_attn.k_proj.lora_B.weight") != nullptr);

  options.lora = LoraOptions{3, 4, 0, targetRoles("qv").value()};
  Decoder other(tinyConfig(), options, 1, weights);
  const std::string error = toString(loadAdapter(place.path, other));
  CHECK(has(error, "r is 2, expected 3"));
  CHECK(has(error, "target_modules are down_proj"));
  put(place / "adapter_config.json", R"({"r": 3, "lora_alpha": 4, "use_rslora": true, "peft_type": "IA3"})");
  const std::string kinds = toString(loadAdapter(place.path, other));
  CHECK(has(kinds, "use_rslora"));
  CHECK(has(kinds, "IA3"));
  put(place / "adapter_config.json", R"({"r": 3, "lora_alpha": 4})");
  CHECK(has(toString(loadAdapter(place.path, other)), "does not fit the model"));
}

TEST_CASE("a field of a foreign adapter is used, known to change nothing, or refused") {
  const TestFolder place;
  DecoderOptions options;
  options.lora = LoraOptions{2, 4, 0, targetRoles("qv").value()};
  Decoder decoder(tinyConfig(), options, 1, randomWeights(7, at::kFloat));
  REQUIRE(toString(saveAdapter(place.path, decoder, "base/model")).empty());
  const auto loaded = [&](const std::string& more) {
    put(place / "adapter_config.json",
        R"({"r": 2, "lora_alpha": 4, "peft_type": "LORA", "target_modules": ["v_proj", "q_proj"], )" + more + "}");
    return toString(loadAdapter(place.path, decoder));
  };
  // The fields that peft 0.18 writes for an ordinary adapter.
  CHECK(loaded(R"("alora_invocation_tokens": null, "alpha_pattern": {}, "arrow_config": null, "auto_mapping": null,
      "base_model_name_or_path": "m", "bias": "none", "corda_config": null, "ensure_weight_tying": false,
      "eva_config": null, "exclude_modules": null, "fan_in_fan_out": false, "inference_mode": true,
      "init_lora_weights": true, "layer_replication": null, "layers_pattern": null, "layers_to_transform": null,
      "loftq_config": {}, "lora_bias": false, "lora_dropout": 0.05, "megatron_config": null,
      "megatron_core": "megatron.core", "modules_to_save": null, "peft_version": "0.18.0", "qalora_group_size": 16,
      "rank_pattern": {}, "revision": null, "target_parameters": null, "task_type": "CAUSAL_LM",
      "trainable_token_indices": null, "use_dora": false, "use_qalora": false, "use_rslora": false)")
            .empty());
  for (const char* harmless :
       {R"("init_lora_weights": "gaussian")", R"("init_lora_weights": false)", R"("layers_to_transform": [0, 1])",
        R"("modules_to_save": [])", R"("exclude_modules": ["lm_head", "mlp.up_proj"])"})
    CHECK(loaded(harmless).empty());
  CHECK(has(loaded(R"("exclude_modules": ["k_proj", "self_attn.q_proj"])"),
            "target_modules without exclude_modules are v_proj, expected q_proj, v_proj"));
  CHECK(has(loaded(R"("exclude_modules": ["layers.0.self_attn.q_proj"])"), "exclude_modules is "));
  for (const char* refused :
       {R"("alpha_pattern": {"q_proj": 64})", R"("rank_pattern": {"q_proj": 8})", R"("use_qalora": true)",
        R"("layer_replication": [[0, 2], [1, 2]])", R"("fan_in_fan_out": true)", R"("bias": "lora_only")",
        R"("init_lora_weights": "pissa_niter_4")", R"("init_lora_weights": "olora")", R"("use_dora": true)",
        R"("use_rslora": true)", R"("lora_bias": true)", R"("modules_to_save": ["lm_head"])", R"("of_the_future": 1)",
        R"("layers_to_transform": [0])", R"("layers_to_transform": [0, 2])", R"("layers_to_transform": 1)",
        R"("layers_pattern": "layers")", R"("exclude_modules": ".*q_proj")", R"("use_dora": "true")"}) {
    const std::string error = loaded(refused);
    CAPTURE(error);
    const StringRef field = StringRef(refused).split(':').first.trim('"');
    CHECK(has(error, field.str() + " is "));
    CHECK(has(error, "is not supported"));
  }
  for (const char* pattern : {".*layers.0.*", "all-linear"}) {
    put(place / "adapter_config.json",
        R"({"r": 2, "lora_alpha": 4, "target_modules": ")" + std::string(pattern) + "\"}");
    CHECK(has(toString(loadAdapter(place.path, decoder)), "target_modules is "));
  }
}

TEST_CASE("each weight has a name of Hugging Face's") {
  std::set<std::string> names;
  for (const TensorSpec& spec : weightSpecs(namedConfig("llama3_8b").value())) {
    const auto there = huggingFaceName(spec.name);
    REQUIRE(there.has_value());
    CHECK(names.insert(*there).second);
  }
  CHECK((huggingFaceName("layers.31.mlp.w2.lora_a.weight") == "model.layers.31.mlp.down_proj.lora_a.weight"));
  CHECK((huggingFaceName("output.lora_b.weight") == "lm_head.lora_b.weight"));
  for (const char* name : {"", "layers.", "layers.x.mlp.w1.weight", "layers.1.mlp.w4.weight", "outputs.weight", "norm"})
    CHECK_FALSE(huggingFaceName(name).has_value());
  CHECK_FALSE(huggingFaceName("layers..mlp.w1.weight").has_value());
}

}  // namespace
}  // namespace expc::llama
