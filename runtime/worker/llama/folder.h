#pragma once

// A model as a folder: config.json and safetensors, in one file or in several with an index. Read with Hugging Face's
// names or torchtune's, written with either.

#include <ATen/core/Tensor.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/io/safetensors.h"
#include "runtime/data/llama/config.h"
#include "runtime/worker/llama/weight_source.h"

namespace expc::llama {

// Names and row orders of weights: torchtune's, which the decoder uses, and Hugging Face's (docs/semantics.md §2). They
// differ in the rows of the query and key products: torchtune rotates neighbouring elements of a head, Hugging Face
// element i and i + half.

/// "layers.3.attn.q_proj.weight" to "model.layers.3.self_attn.q_proj.weight"; also a module without the last part, and
/// what stands between the module and the end (".lora_A.weight") is kept. Nothing for a name that is not torchtune's.
std::optional<std::string> huggingFaceName(llvm::StringRef torchtune);

/// Rows in torchtune's order, from Hugging Face's. `rows` is [heads * head width, ...]: the weight of q or k, or the
/// second matrix of its adapter.
at::Tensor rowsFromHuggingFace(const at::Tensor& rows, int64_t head_width);
/// All rows the other way.
at::Tensor rowsToHuggingFace(const at::Tensor& rows, int64_t head_width);
/// True for the products whose rows differ.
inline bool rowsDiffer(Role role) { return role == Role::Query || role == Role::Key; }

/// Whose names tensors have, and with them whose order of rows.
enum class Naming { HuggingFace, Torchtune };

class Folder {
 public:
  /// Maps the files and holds them to config.json. One error that lists tensors that are missing, twice there, not the
  /// model's, of another shape or no floating-point numbers; nothing that a folder holds is believed before.
  static llvm::Expected<Folder> open(const std::string& path);

  const Config& config() const { return config_; }
  Naming naming() const { return naming_; }
  /// A copy of one weight on the CPU, in the file's type, rows in torchtune's order.
  at::Tensor read(const TensorSpec& spec) const;
  /// Any elements of it. What was read leaves the process's memory. The folder must live longer.
  WeightSource weights() const;
  /// The type that a weight has in its file.
  at::ScalarType type(const TensorSpec& spec) const;

 private:
  Folder() = default;
  llvm::Error openFiles(const std::string& path);
  llvm::Error check(const std::string& path) const;
  const io::TensorInfo* find(const TensorSpec& spec) const;
  at::Tensor read(const TensorSpec& spec, int64_t first, int64_t count) const;

  Config config_;
  Naming naming_ = Naming::HuggingFace;
  std::vector<io::SafeTensors> files_;
  llvm::StringMap<const io::TensorInfo*> tensors_;
};

/// Writes a folder that Folder::open, and with Hugging Face's names transformers, reads: config.json and
/// model.safetensors, or with more than `file_bytes` of weights model-00001-of-0000N.safetensors and their index.
/// `weight` gives a weight (any device and type, rows in torchtune's order); it is asked for one after the other and at
/// most a file's worth is held. They are stored in `dtype`.
llvm::Error writeFolder(const std::string& path, const Config& config,
                        const std::function<at::Tensor(const TensorSpec&)>& weight, at::ScalarType dtype, Naming naming,
                        int64_t file_bytes = 5'000'000'000);

}  // namespace expc::llama
