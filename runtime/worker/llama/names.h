#pragma once

// Names and row orders of weights: torchtune's, which the decoder uses, and Hugging Face's (docs/semantics.md §2). They
// differ in the rows of the query and key products: torchtune rotates neighbouring elements of a head, Hugging Face
// element i and i + half.

#include <ATen/core/Tensor.h>
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

#include "runtime/worker/llama/config.h"

namespace expc::llama {

/// "layers.3.attn.q_proj.weight" to "model.layers.3.self_attn.q_proj.weight"; also a module without the last part, and
/// what stands between the module and the end (".lora_A.weight") is kept. Nothing for a name that is not torchtune's.
std::optional<std::string> huggingFaceName(llvm::StringRef torchtune);

/// Rows in torchtune's order, from Hugging Face's. `rows` is [heads * head width, ...]: the weight of q or k, or the
/// second matrix of its adapter.
at::Tensor rowsFromHuggingFace(const at::Tensor& rows, int64_t head_width);
/// Where a row in torchtune's order lies in Hugging Face's.
int64_t rowInHuggingFace(int64_t row, int64_t head_width);
/// All rows the other way.
at::Tensor rowsToHuggingFace(const at::Tensor& rows, int64_t head_width);
/// True for the products whose rows differ.
inline bool rowsDiffer(Role role) { return role == Role::Query || role == Role::Key; }

}  // namespace expc::llama
