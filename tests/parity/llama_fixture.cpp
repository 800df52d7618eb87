#include "tests/parity/llama_fixture.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/llama/folder.h"
#include "tests/source_dir.h"

namespace expc::parity {
namespace {

at::Tensor inTuneOrder(at::Tensor tensor, const std::string& torchtune, bool second_matrix) {
  const StringRef name = torchtune;
  const bool moves = (name.contains("q_proj") || name.contains("k_proj")) && (!name.contains("lora_") || second_matrix);
  return moves ? llama::rowsFromHuggingFace(tensor, tinyConfig().head_width) : tensor;
}

}  // namespace

llama::Config tinyConfig() {
  auto config = llama::configFromJson(readJson("llama_tiny/config.json"));
  REQUIRE(config);
  return *config;
}

std::unique_ptr<llama::Decoder> tinyDecoder(const llama::DecoderOptions& options) {
  auto folder = llama::Folder::open(expc::test::sourceDir() + "/tests/parity/golden/llama_tiny");
  if (!folder) FAIL(toString(folder.takeError()));
  return std::make_unique<llama::Decoder>(folder->config(), options, 1, folder->weights());
}

llama::DecoderOptions tinyLora(at::ScalarType dtype) {
  llama::DecoderOptions options;
  options.dtype = dtype;
  options.lora = llama::LoraOptions{4, 8, 0, llama::targetRoles("qvo_mlp").value()};
  return options;
}

std::unique_ptr<llama::Decoder> tinyAdapted(const llama::DecoderOptions& options, bool fresh) {
  auto decoder = tinyDecoder(options);
  const auto error = toString(llama::loadAdapter(expc::test::sourceDir() + "/tests/parity/golden/lora_tiny", *decoder));
  REQUIRE_MESSAGE(error.empty(), error);
  at::NoGradGuard no_grad;
  for (const auto& entry : decoder->adapters())
    if (fresh && entry.name.find("lora_b") != std::string::npos) at::Tensor(entry.tensor).zero_();
  return decoder;
}

at::Tensor tuneTensor(const safetensors::File& file, const std::string& prefix, const std::string& torchtune) {
  return inTuneOrder(tensorOf(file, prefix + llama::huggingFaceName(torchtune).value()), torchtune, false);
}

at::Tensor tuneAdapter(const safetensors::File& file, const std::string& prefix, const std::string& torchtune) {
  return inTuneOrder(tensorOf(file, prefix + llama::peftName(torchtune)), torchtune,
                     torchtune.find("lora_b") != std::string::npos);
}

std::vector<model::NamedTensor> stateOf(const llama::Decoder& decoder) {
  std::vector<model::NamedTensor> state;
  decoder.eachOfState(
      [&](const model::NamedTensor& entry) { state.push_back({entry.name, entry.tensor.detach().clone()}); });
  return state;
}

double meanLossBackward(llama::Decoder& decoder, const llama::Sequences& input, const at::Tensor& labels) {
  const auto labelled = llama::labelledPositions(labels);
  const auto loss = decoder.lossSum(input, labelled) / labelled.count();
  torch::autograd::backward({loss});
  return loss.item<double>();
}

}  // namespace expc::parity
