#pragma once

// Adapters in PEFT's form: a folder with adapter_config.json and adapter_model.safetensors, names and rows as Hugging
// Face has them (docs/semantics.md §3).

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/worker/llama/decoder.h"

namespace expc::llama {

/// Copies the folder's matrices into the decoder's adapters. An error, with nothing changed, that lists what in the
/// configuration differs from the decoder's (rank, alpha, target modules) or is set and not known here to be without
/// effect, and which tensors do not fit.
llvm::Error loadAdapter(const std::string& folder, Decoder& decoder);

/// Writes a folder that PEFT loads. `base` is the name or path of the base model, empty if there is none.
llvm::Error saveAdapter(const std::string& folder, const Decoder& decoder, const std::string& base);

/// "layers.0.attn.q_proj.lora_a.weight" as PEFT calls it.
std::string peftName(const std::string& torchtune);

}  // namespace expc::llama
