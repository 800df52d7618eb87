#pragma once

// Adapters in PEFT's format: a folder with adapter_config.json and adapter_model.safetensors, with Hugging Face's
// names and row order (docs/semantics.md §3). PEFT itself loads and writes such folders.

#include <string>

#include "runtime/base/llvm.h"
#include "runtime/worker/llama/decoder.h"

namespace expc::llama {

/// Copies the folder's matrices into the decoder's adapters. On an error nothing is changed. The error lists what in
/// the configuration differs from the decoder's (rank, alpha, target modules, layers, …), each field that is set and
/// not known to be without effect, and the tensors that do not fit.
Error loadAdapter(const std::string& folder, Decoder& decoder);

/// Writes a folder that PEFT loads. `base` is the base model's name or path, empty to leave it out.
Error saveAdapter(const std::string& folder, const Decoder& decoder, const std::string& base);

/// PEFT's name of one of Decoder::adapters(), such as "layers.0.attn.q_proj.lora_a.weight".
std::string peftName(const std::string& torchtune);

}  // namespace expc::llama
