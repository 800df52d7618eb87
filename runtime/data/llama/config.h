#pragma once

// Sizes of a Llama 3 decoder (docs/semantics.md §2): those that have a name, and those of a Hugging Face config.json.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace expc::llama {

/// How Llama 3.1 and later stretch the rotation of long waves.
struct RopeScaling {
  double factor = 8;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int64_t original_positions = 8192;
};

struct Config {
  int64_t vocabulary = 0;
  int64_t width = 0;  // of the residual stream
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;    // divides heads
  int64_t head_width = 0;  // even
  int64_t mlp_width = 0;
  int64_t max_positions = 0;
  double norm_epsilon = 1e-5;
  double rope_base = 500000;
  std::optional<RopeScaling> rope_scaling = std::nullopt;
  bool tied = false;  // the head is the embedding
  /// bos_token_id, eos_token_id and pad_token_id of config.json, numbers or lists of them; a model that is written
  /// keeps them, so that what it generates ends.
  llvm::json::Object token_ids = {};

  int64_t queryWidth() const { return heads * head_width; }
  int64_t kvWidth() const { return kv_heads * head_width; }
};

/// llama3_8b, llama3_2_3b, llama3_2_1b or tiny (4 layers of width 256, 8,192 tokens); nothing for another name.
std::optional<Config> namedConfig(llvm::StringRef name);

/// Reads config.json. One error that lists everything in it that this decoder cannot be.
llvm::Expected<Config> configFromJson(const llvm::json::Value& json);
/// The sizes in a folder's config.json. Errors name the file and all in it that a Llama 3 decoder cannot be.
llvm::Expected<Config> readConfig(const std::string& folder);
/// config.json for Hugging Face's LlamaForCausalLM; `dtype` as torch calls it ("bfloat16").
llvm::json::Object configToJson(const Config& config, llvm::StringRef dtype);

/// What a tensor is for: from the head on products, behind it those of a block, by which a block's are numbered.
enum class Role { Embedding, Norm, Head, Query, Key, Value, Output, Gate, Up, Down };

/// A weight of the base model.
struct TensorSpec {
  std::string name;  // torchtune's
  Role role = Role::Norm;
  std::vector<int64_t> shape;
  uint64_t index = 0;  // in weightSpecs

  int64_t elements() const;
};

/// All weights in torchtune's order: embedding, layers, last norm, head (unless tied).
std::vector<TensorSpec> weightSpecs(const Config& config);

/// Whether it is a weight that inputs are multiplied with, and whether one of a block: those that NF4 quantises.
inline bool isProduct(Role role) { return role >= Role::Head; }
inline bool isBlockProduct(Role role) { return role > Role::Head; }

/// A JSON file of a model's folder, at most 64 MiB; errors name it.
llvm::Expected<llvm::json::Value> readJsonFile(const std::string& path);

}  // namespace expc::llama
