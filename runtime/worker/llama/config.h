#pragma once

// Sizes of a Llama 3 decoder (docs/semantics.md §2): the named ones, and those read from a Hugging Face config.json;
// and the list of weights that follows from them. All else in this folder takes its shapes from here.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace expc::llama {

/// Stretches the rotation of long waves, as Llama 3.1 and later do (ropeFrequencies() in layers.h has the formula).
struct RopeScaling {
  double factor = 8;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int64_t original_positions = 8192;
};

/// Sizes and constants of a decoder. Values that configFromJson() returns are in range and fit each other.
struct Config {
  int64_t vocabulary = 0;
  int64_t width = 0;  // elements of a token's hidden state
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;    // heads of keys and values (grouped-query attention); divides heads
  int64_t head_width = 0;  // elements of a head; even, because rotations work on pairs
  int64_t mlp_width = 0;
  int64_t max_positions = 0;
  double norm_epsilon = 1e-5;
  double rope_base = 500000;
  std::optional<RopeScaling> rope_scaling = std::nullopt;
  bool tied = false;  // the head's matrix is the embedding's
  /// bos_token_id, eos_token_id and pad_token_id of config.json, each a number or a list. A model that is written
  /// keeps them, because generation stops at eos_token_id.
  llvm::json::Object token_ids = {};

  int64_t queryWidth() const { return heads * head_width; }
  int64_t kvWidth() const { return kv_heads * head_width; }
};

/// The sizes of llama3_8b, llama3_2_3b, llama3_2_1b or tiny (4 layers of width 256, 8,192 tokens); nothing for
/// another name.
std::optional<Config> namedConfig(llvm::StringRef name);

/// Reads the content of a config.json. The error lists everything in it that a Llama 3 decoder cannot be.
llvm::Expected<Config> configFromJson(const llvm::json::Value& json);
/// Reads a folder's config.json; errors name the file, and list as configFromJson() does.
llvm::Expected<Config> readConfig(const std::string& folder);
/// The content of a config.json for Hugging Face's LlamaForCausalLM; `dtype` is torch's name of the type
/// ("bfloat16").
llvm::json::Object configToJson(const Config& config, llvm::StringRef dtype);

/// The part that a tensor plays. The order matters: from Head on they are matrices that inputs are multiplied with
/// (isProduct), and behind Head those of a block (isBlockProduct), whose values index a block's array of products.
enum class Role { Embedding, Norm, Head, Query, Key, Value, Output, Gate, Up, Down };

/// A weight of the base model.
struct TensorSpec {
  std::string name;  // in torchtune's naming
  Role role = Role::Norm;
  std::vector<int64_t> shape;
  uint64_t index = 0;  // its place in weightSpecs()

  int64_t elements() const;
};

/// All weights in torchtune's order: embedding, layers, last norm, head (unless tied).
std::vector<TensorSpec> weightSpecs(const Config& config);

/// Whether inputs are multiplied with such a weight, and whether it belongs to a block. NF4 quantises the latter.
inline bool isProduct(Role role) { return role >= Role::Head; }
inline bool isBlockProduct(Role role) { return role > Role::Head; }

/// Reads a JSON file of a model's folder, of at most 64 MiB; errors name the file.
llvm::Expected<llvm::json::Value> readJsonFile(const std::string& path);

}  // namespace expc::llama
