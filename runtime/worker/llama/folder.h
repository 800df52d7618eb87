#pragma once

// A model as a folder: config.json and safetensors, in one file or in several with an index. Folders are read with
// Hugging Face's names or torchtune's, and written with either; everything else in this program uses torchtune's.

#include <ATen/core/Tensor.h>
#include <llvm/ADT/StringMap.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/model/llama.h"
#include "runtime/data/model/safetensors.h"
#include "runtime/worker/llama/weight_source.h"

namespace expc::llama {

// Names and row orders of weights (docs/semantics.md §2). torchtune's and Hugging Face's conventions differ in names
// and in the rows of the query and key matrices: torchtune's rotation pairs neighbouring elements of a head, Hugging
// Face's pairs element i with i + half.

/// Turns "layers.3.attn.q_proj.weight" into "model.layers.3.self_attn.q_proj.weight". Also takes a module without the
/// last part, and keeps whatever stands behind the module (".lora_A.weight"). Nothing for a name that is not
/// torchtune's.
std::optional<std::string> huggingFaceName(StringRef torchtune);

/// Puts Hugging Face's rows into torchtune's order. `rows` is [heads * head width, ...]: the weight of q or k, or the
/// second matrix of its adapter.
at::Tensor rowsFromHuggingFace(const at::Tensor& rows, int64_t head_width);
/// Puts torchtune's rows into Hugging Face's order.
at::Tensor rowsToHuggingFace(const at::Tensor& rows, int64_t head_width);
/// True for the matrices whose row order differs between the conventions.
inline bool rowsDiffer(Role role) { return role == Role::Query || role == Role::Key; }

/// The convention that a folder follows, in its tensors' names and in the order of rows.
enum class Naming { HuggingFace, Torchtune };

/// An opened model folder. Its files are mapped into memory and read piece by piece. Safe to read from several
/// threads once open.
class Folder {
 public:
  /// Maps the files and checks them against config.json. One error lists all tensors that are missing, in two files,
  /// not the model's, of another shape or no floating-point numbers. Once it succeeds, every read finds its tensor.
  static Expected<Folder> open(const std::string& path);

  const Config& config() const { return config_; }
  Naming naming() const { return naming_; }
  /// A copy of one weight on the CPU, in the file's type, rows in torchtune's order.
  at::Tensor read(const TensorSpec& spec) const;
  /// A source of any elements of a weight. Pages that were read are given back to the system. The folder must outlive
  /// it.
  WeightSource weights() const;
  /// The type in which the file stores a weight.
  at::ScalarType type(const TensorSpec& spec) const;

 private:
  Folder() = default;
  Error openFiles(const std::string& path);
  Error check(const std::string& path) const;
  // `tensors_` points into `files_`, which is therefore complete before the first entry.
  const safetensors::TensorInfo* find(const TensorSpec& spec) const;
  at::Tensor read(const TensorSpec& spec, int64_t first, int64_t count) const;

  Config config_;
  Naming naming_ = Naming::HuggingFace;
  std::vector<safetensors::File> files_;
  llvm::StringMap<const safetensors::TensorInfo*> tensors_;
};

/// Writes a folder that Folder::open reads, and transformers too with Hugging Face's names: config.json and
/// model.safetensors, or with more than `file_bytes` of weights model-00001-of-0000N.safetensors and their index.
/// `weight` returns one weight (any device and type, rows in torchtune's order). It is called for one after the
/// other, and at most a file's worth is held. They are stored in `dtype`. Errors name the path.
Error writeFolder(const std::string& path, const Config& config,
                  const std::function<at::Tensor(const TensorSpec&)>& weight, at::ScalarType dtype, Naming naming,
                  int64_t file_bytes = 5'000'000'000);

}  // namespace expc::llama
