#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/worker/llama/decoder.h"
#include "tests/parity/fixtures.h"

namespace expc::parity {

/// The fixtures' configuration (128 tokens, width 64, 2 layers).
llama::Config tinyConfig();

/// A decoder with the weights of golden/llama_tiny.
std::unique_ptr<llama::Decoder> tinyDecoder(const llama::DecoderOptions& options);

/// Options of golden/lora_tiny (rank 4, alpha 8, q, v, output and MLP) in a type.
llama::DecoderOptions tinyLora(at::ScalarType dtype);
/// A decoder with the weights of golden/llama_tiny and the adapter of golden/lora_tiny; with `fresh` its second
/// matrices are zero.
std::unique_ptr<llama::Decoder> tinyAdapted(const llama::DecoderOptions& options, bool fresh = false);

/// A tensor of a file under the Hugging Face name of `torchtune` with `prefix`, rows in torchtune's order.
at::Tensor tuneTensor(const safetensors::File& file, const std::string& prefix, const std::string& torchtune);
/// The same for a PEFT name.
at::Tensor tuneAdapter(const safetensors::File& file, const std::string& prefix, const std::string& torchtune);

/// A copy of all that a decoder gives of its state.
std::vector<model::NamedTensor> stateOf(const llama::Decoder& decoder);

/// Loss sum with gradients in the parameters, divided by the labels' number.
double meanLossBackward(llama::Decoder& decoder, const llama::Sequences& input, const at::Tensor& labels);

}  // namespace expc::parity
