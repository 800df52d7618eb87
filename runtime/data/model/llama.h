#pragma once

// The sizes of a Llama 3 decoder (docs/semantics.md §2): those of the named models, and those of a Hugging Face
// config.json. From a Config follow the names and shapes of all weights. This file knows nothing of the weights'
// values; weight_source.h reads these.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::llama {

/// The scaling of rotary frequencies of Llama 3.1 and later (rope_type "llama3"). Waves longer than original_positions
/// / low_frequency_factor positions are stretched by `factor`, waves shorter than original_positions /
/// high_frequency_factor stay, those between are interpolated.
struct RopeScaling {
  double factor = 8;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int64_t original_positions = 8192;
};

/// The sizes of a decoder. A Config from the functions below is consistent: heads are a multiple of kv_heads,
/// head_width is even, and products of two sizes do not overflow.
struct Config {
  int64_t vocabulary = 0;  // tokens
  int64_t width = 0;       // of the residual stream
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;        // divides heads; fewer than heads is grouped-query attention
  int64_t head_width = 0;      // even, since rotations act on pairs
  int64_t mlp_width = 0;       // of the hidden layer of each block's MLP
  int64_t max_positions = 0;   // the longest sequence, in tokens
  double norm_epsilon = 1e-5;  // added to the mean square in each RMSNorm
  double rope_base = 500000;   // base of the rotary frequencies (rope_theta)
  std::optional<RopeScaling> rope_scaling = std::nullopt;
  bool tied = false;  // the head shares the embedding's weight
  /// bos_token_id, eos_token_id and pad_token_id of config.json, each a number or a list of them. A model that is
  /// written keeps them; without them its generation would not end.
  json::Object token_ids = {};

  /// Widths of all heads together: of queries, and of keys and values.
  int64_t queryWidth() const { return heads * head_width; }
  int64_t kvWidth() const { return kv_heads * head_width; }
};

/// The sizes of llama3_8b, llama3_2_3b, llama3_2_1b or tiny (4 layers of width 256, 8,192 tokens); nothing for another
/// name.
std::optional<Config> namedConfig(StringRef name);

/// Reads the content of a config.json. If this decoder cannot be that model, one error lists every reason.
Expected<Config> configFromJson(const json::Value& json);
/// Reads the config.json in a model's folder. Errors name the file and list every reason.
Expected<Config> readConfig(const std::string& folder);
/// The config.json of a model for Hugging Face's LlamaForCausalLM; `dtype` is torch's name of the weights' type
/// ("bfloat16").
json::Object configToJson(const Config& config, StringRef dtype);

/// The use of a weight. The order matters: weights from Head on are multiplied with inputs, and those behind Head
/// belong to a block, whose weights are numbered in this order.
enum class Role { Embedding, Norm, Head, Query, Key, Value, Output, Gate, Up, Down };

/// The name and shape of a weight of the base model.
struct TensorSpec {
  std::string name;  // torchtune's
  Role role = Role::Norm;
  std::vector<int64_t> shape;  // rows first, as torch stores it: outputs, inputs
  uint64_t index = 0;          // its place in weightSpecs()

  int64_t elements() const;
};

/// All weights in torchtune's order: embedding, layers, last norm, head (unless tied). Random initialisation draws
/// each weight by its number in this order.
std::vector<TensorSpec> weightSpecs(const Config& config);

/// Whether inputs are multiplied with a weight: all but embedding and norms.
inline bool isProduct(Role role) { return role >= Role::Head; }
/// Whether a weight is a product of a block, which are those that NF4 quantises.
inline bool isBlockProduct(Role role) { return role > Role::Head; }

/// Reads a JSON file of a model's folder, at most 64 MiB. Errors name it.
Expected<json::Value> readJsonFile(const std::string& path);

}  // namespace expc::llama
