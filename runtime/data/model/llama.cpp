// Reads and writes the sizes of Llama 3 decoders. config.json comes from strangers and describes many models, so the
// reader checks every member that this decoder depends on, also those it only supports in one form (`hidden_act`,
// biases). All faults are collected into one error: whoever converts a model sees the whole list at once.

#include "runtime/data/model/llama.h"

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"

namespace expc::llama {
namespace {

// Limits of a config.json. They are larger than any model, and small enough that no product of two sizes overflows.
constexpr int64_t kLargestSize = int64_t{1} << 24;
constexpr int64_t kMostLayers = 4096;
constexpr const char* kTokenIds[] = {"bos_token_id", "eos_token_id", "pad_token_id"};

/// A named model.
struct Named {
  llvm::StringLiteral name;
  int64_t vocabulary, width, layers, heads, kv_heads, head_width, mlp_width, max_positions;
  bool small;  // Llama 3.2: tied head, rotary frequencies scaled by 32
};
constexpr Named kNamed[] = {{"llama3_8b", 128256, 4096, 32, 32, 8, 128, 14336, 8192, false},
                            {"llama3_2_3b", 128256, 3072, 28, 24, 8, 128, 8192, 131072, true},
                            {"llama3_2_1b", 128256, 2048, 16, 32, 8, 64, 8192, 131072, true},
                            {"tiny", 8192, 256, 4, 8, 4, 32, 1024, 8192, false}};

/// Reads members of an object and adds a line to `wrong` for each that does not fit. A member that is null counts as
/// missing, as Hugging Face writes it.
class Reader {
 public:
  Reader(const json::Object& object, std::vector<std::string>& wrong) : object_(object), wrong_(wrong) {}

  /// A size from 1 to `most`; `otherwise` if it is missing, an error if that is nothing. Returns 1 after an error, so
  /// that the checks which follow may divide by it.
  int64_t size(StringRef key, std::optional<int64_t> otherwise, int64_t most = kLargestSize) {
    const json::Value* value = find(key);
    if (!value) {
      if (!otherwise) wrong_.push_back(fmt::format("no {}", key));
      return otherwise.value_or(1);
    }
    // The range keeps products of two sizes from overflowing and a hostile file from asking for endless layers.
    const auto number = value->getAsInteger();
    if (number && *number >= 1 && *number <= most) return *number;
    wrong_.push_back(fmt::format("{} must be a whole number from 1 to {}", key, most));
    return 1;
  }

  /// A number above zero; `otherwise` if it is missing.
  double positive(StringRef key, double otherwise) {
    const json::Value* value = find(key);
    if (!value) return otherwise;
    const auto number = value->getAsNumber();
    if (number && std::isfinite(*number) && *number > 0) return *number;
    wrong_.push_back(fmt::format("{} must be a number above zero", key));
    return otherwise;
  }

  /// A switch; false if it is missing.
  bool flag(StringRef key) {
    const json::Value* value = find(key);
    if (!value) return false;
    if (const auto flag = value->getAsBoolean()) return *flag;
    wrong_.push_back(fmt::format("{} must be true or false", key));
    return false;
  }

  /// Checks that a text has the only value that is supported, if it is given at all.
  void only(StringRef key, StringRef wanted) {
    const json::Value* value = find(key);
    if (!value) return;
    const auto text = value->getAsString();
    if (!text || *text != wanted) wrong_.push_back(fmt::format("{} must be \"{}\"", key, wanted));
  }

  /// Checks that a switch is off: this decoder has nothing for it.
  void no(StringRef key) {
    if (flag(key)) wrong_.push_back(fmt::format("{} is set, Llama 3 has none", key));
  }

  /// A member; null if it is missing or null.
  const json::Value* find(StringRef key) const {
    const json::Value* value = object_.get(key);
    return !value || value->getAsNull() ? nullptr : value;
  }

 private:
  const json::Object& object_;
  std::vector<std::string>& wrong_;
};

/// Reads rope_scaling of config.json, or rope_parameters, which newer versions of transformers write in its place.
/// Nothing if positions are not scaled.
std::optional<RopeScaling> readScaling(const json::Object& object, std::vector<std::string>& wrong) {
  // Older files call it "type".
  auto type = object.getString("rope_type");
  if (!type) type = object.getString("type");
  if (!type || *type == "default") return std::nullopt;
  // Other ways of stretching (linear, dynamic, yarn) would need formulas of their own.
  if (*type != "llama3") {
    wrong.push_back(fmt::format("rope_type \"{}\" is not supported (default and llama3 are)", type->take_front(32)));
    return std::nullopt;
  }
  Reader reader(object, wrong);
  RopeScaling scaling;
  scaling.factor = reader.positive("factor", scaling.factor);
  scaling.low_frequency_factor = reader.positive("low_freq_factor", scaling.low_frequency_factor);
  scaling.high_frequency_factor = reader.positive("high_freq_factor", scaling.high_frequency_factor);
  scaling.original_positions = reader.size("original_max_position_embeddings", scaling.original_positions);
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
    wrong.push_back("high_freq_factor must be above low_freq_factor");
  return scaling;
}

/// Whether a value is the id of a token, or a list of up to 64 of them.
bool isTokenIds(const json::Value& value) {
  constexpr size_t kMost = 64;
  const auto is_id = [](const json::Value& id) { return id.getAsInteger().value_or(-1) >= 0; };
  const auto* list = value.getAsArray();
  return list ? list->size() <= kMost && llvm::all_of(*list, is_id) : is_id(value);
}

}  // namespace

std::optional<Config> namedConfig(StringRef name) {
  for (const Named& named : kNamed) {
    if (name != named.name) continue;
    Config c{named.vocabulary, named.width,      named.layers,    named.heads,
             named.kv_heads,   named.head_width, named.mlp_width, named.max_positions};
    c.tied = named.small;
    if (named.small) c.rope_scaling = RopeScaling{32, 1, 4, 8192};
    return c;
  }
  return std::nullopt;
}

Expected<Config> configFromJson(const json::Value& json) {
  const auto* object = json.getAsObject();
  if (!object) return failure("expected an object");
  std::vector<std::string> wrong;
  Reader reader(*object, wrong);
  Config c;
  // Options that change the architecture come first: other models share the names of the sizes.
  reader.only("model_type", "llama");
  reader.only("hidden_act", "silu");
  reader.no("attention_bias");
  reader.no("mlp_bias");
  c.vocabulary = reader.size("vocab_size", std::nullopt);
  c.width = reader.size("hidden_size", std::nullopt);
  c.layers = reader.size("num_hidden_layers", std::nullopt, kMostLayers);
  c.heads = reader.size("num_attention_heads", std::nullopt);
  // Without grouped heads the file need not mention them.
  c.kv_heads = reader.size("num_key_value_heads", c.heads);
  c.mlp_width = reader.size("intermediate_size", std::nullopt);
  // Missing members have the defaults of Hugging Face's LlamaConfig.
  c.max_positions = reader.size("max_position_embeddings", 2048);
  c.norm_epsilon = reader.positive("rms_norm_eps", 1e-6);
  c.rope_base = reader.positive("rope_theta", 10000);
  c.tied = reader.flag("tie_word_embeddings");
  // Later checks need sizes that fit together; a size that was wrong is 1 here, which divides everything.
  if (!reader.find("head_dim") && c.width % c.heads != 0)
    wrong.push_back("num_attention_heads must divide hidden_size where there is no head_dim");
  c.head_width = reader.size("head_dim", std::max<int64_t>(1, c.width / c.heads));
  if (c.heads % c.kv_heads != 0) wrong.push_back("num_key_value_heads must divide num_attention_heads");
  if (c.head_width % 2 != 0) wrong.push_back("a head's width must be even");
  // The older name first, so that rope_parameters, the newer one, wins if both are given.
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json::Value* value = reader.find(key);
    if (!value) continue;
    if (const auto* scaling = value->getAsObject()) {
      // rope_parameters holds the base too.
      c.rope_base = Reader(*scaling, wrong).positive("rope_theta", c.rope_base);
      c.rope_scaling = readScaling(*scaling, wrong);
    } else {
      wrong.push_back(fmt::format("{} must be an object", key));
    }
  }
  for (const char* key : kTokenIds)
    if (const json::Value* value = reader.find(key); value && isTokenIds(*value)) c.token_ids[key] = *value;
  if (!wrong.empty()) return failure("not Llama 3: {}", fmt::join(wrong, "; "));
  return c;
}

json::Object configToJson(const Config& c, StringRef dtype) {
  json::Object json{{"architectures", json::Array{"LlamaForCausalLM"}},
                    {"model_type", "llama"},
                    {"hidden_act", "silu"},
                    {"attention_bias", false},
                    {"mlp_bias", false},
                    {"vocab_size", c.vocabulary},
                    {"hidden_size", c.width},
                    {"num_hidden_layers", c.layers},
                    {"num_attention_heads", c.heads},
                    {"num_key_value_heads", c.kv_heads},
                    {"head_dim", c.head_width},
                    {"intermediate_size", c.mlp_width},
                    {"max_position_embeddings", c.max_positions},
                    {"rms_norm_eps", c.norm_epsilon},
                    {"rope_theta", c.rope_base},
                    {"tie_word_embeddings", c.tied},
                    {"torch_dtype", dtype}};
  if (c.rope_scaling)
    json["rope_scaling"] = json::Object{{"rope_type", "llama3"},
                                        {"factor", c.rope_scaling->factor},
                                        {"low_freq_factor", c.rope_scaling->low_frequency_factor},
                                        {"high_freq_factor", c.rope_scaling->high_frequency_factor},
                                        {"original_max_position_embeddings", c.rope_scaling->original_positions}};
  for (const auto& [key, value] : c.token_ids) json[key] = value;
  return json;
}

int64_t TensorSpec::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::vector<TensorSpec> weightSpecs(const Config& c) {
  std::vector<TensorSpec> specs = {{"tok_embeddings.weight", Role::Embedding, {c.vocabulary, c.width}}};
  for (int64_t i = 0; i < c.layers; ++i) {
    // The names are torchtune's; folder.cpp maps Hugging Face's to them.
    const std::string layer = fmt::format("layers.{}.", i);
    llvm::append_range(specs, std::initializer_list<TensorSpec>{
                                  {layer + "sa_norm.scale", Role::Norm, {c.width}},
                                  {layer + "attn.q_proj.weight", Role::Query, {c.queryWidth(), c.width}},
                                  {layer + "attn.k_proj.weight", Role::Key, {c.kvWidth(), c.width}},
                                  {layer + "attn.v_proj.weight", Role::Value, {c.kvWidth(), c.width}},
                                  {layer + "attn.output_proj.weight", Role::Output, {c.width, c.queryWidth()}},
                                  {layer + "mlp_norm.scale", Role::Norm, {c.width}},
                                  {layer + "mlp.w1.weight", Role::Gate, {c.mlp_width, c.width}},
                                  {layer + "mlp.w2.weight", Role::Down, {c.width, c.mlp_width}},
                                  {layer + "mlp.w3.weight", Role::Up, {c.mlp_width, c.width}}});
  }
  specs.push_back({"norm.scale", Role::Norm, {c.width}});
  if (!c.tied) specs.push_back({"output.weight", Role::Head, {c.vocabulary, c.width}});
  for (size_t i = 0; i < specs.size(); ++i) specs[i].index = i;
  return specs;
}

Expected<json::Value> readJsonFile(const std::string& path) {
  auto file = TRY(files::read(path, files::kMostByHand));
  // A Git LFS pointer or a compressed file is a common slip; its error says what the file is.
  if (const auto form = files::formOf(file->getBuffer()); !form.empty())
    return failure("{}: not JSON but {}", path, form);
  return prefixed(path, parseJson(file->getBuffer()));
}

Expected<Config> readConfig(const std::string& folder) {
  const std::string path = folder + "/config.json";
  auto json = TRY(readJsonFile(path));
  return prefixed(path, configFromJson(json));
}

}  // namespace expc::llama
