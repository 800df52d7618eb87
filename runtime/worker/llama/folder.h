#pragma once

// A model as a folder: config.json and safetensors, in one file or in several with an index. Read with Hugging Face's
// names or torchtune's, written with either.

#include <ATen/core/Tensor.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Error.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/worker/io/safetensors.h"
#include "runtime/worker/llama/config.h"
#include "runtime/worker/llama/weight_source.h"

namespace expc::llama {

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
