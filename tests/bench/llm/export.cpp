// Trains adapters on a small Llama for some steps and writes what Python then loads (peft_load.py): usage:
// expc-llm-export FOLDER. FOLDER/base and FOLDER/merged are model folders, FOLDER/adapter the adapter,
// FOLDER/expected.safetensors has tokens [B, S] and the logits of the model without (base) and with its adapter
// (adapted).

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <llvm/Support/FileSystem.h>

#include <cstdio>
#include <string>

#include "runtime/base/format.h"
#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/steps.h"
#include "runtime/worker/model/state_file.h"

using namespace expc;

namespace {

llama::Config smallConfig() {
  llama::Config config = *llama::namedConfig("tiny");
  config.vocabulary = 512, config.width = 64, config.layers = 2, config.heads = 4, config.kv_heads = 2;
  config.head_width = 16, config.mlp_width = 128;
  config.rope_scaling = llama::RopeScaling{.factor = 8, .original_positions = 16};
  return config;
}

llvm::Error write(const std::string& folder) {
  for (const char* name : {"", "/base", "/merged", "/adapter"})
    if (const auto error = llvm::sys::fs::create_directories(folder + name))
      return llvm::createStringError(folder + name + ": " + error.message());
  const llama::Config config = smallConfig();
  llama::DecoderOptions options;
  options.max_length = 48;
  options.lora = llama::LoraOptions{8, 16, 0, *llama::targetRoles("qkvo_mlp")};
  llama::Decoder decoder(config, options, 1, llama::randomWeights(1, at::kFloat));
  at::manual_seed(0);
  const llama::Sequences input{
      at::randint(config.vocabulary, {2, options.max_length}, at::TensorOptions(at::kLong)), {}, {}};
  const auto logits = [&] {
    const at::NoGradGuard no_grad;
    return decoder.logits(decoder.hidden(input)).view({2, options.max_length, config.vocabulary}).contiguous();
  };
  const at::Tensor base = logits();
  const llama::Labelled labelled = llama::labelledPositions(input.tokens);
  const auto trained = decoder.trainableTensors();
  llama::Steps steps(optimizer::makeAdam(trained, {.learning_rate = 1e-2, .decoupled = true}), trained, std::nullopt,
                     0);
  for (int i = 0; i < 10; ++i) {
    steps.add(decoder.lossSum(input, labelled) / labelled.count());
    fmt::print("step {}: loss {:.4f}\n", i + 1, steps.finish().loss.item<double>());
  }
  auto digest = model::saveState(folder + "/expected.safetensors",
                                 {{"tokens", input.tokens}, {"base", base}, {"adapted", logits()}});
  if (!digest) return digest.takeError();
  if (auto error = llama::saveAdapter(folder + "/adapter", decoder, folder + "/base")) return error;
  const auto weights = [&](const llama::TensorSpec& spec) { return decoder.weight(spec); };
  if (auto error = llama::writeFolder(folder + "/base", config, weights, at::kFloat, llama::Naming::HuggingFace))
    return error;
  const auto merged = [&](const llama::TensorSpec& spec) { return decoder.mergedWeight(spec); };
  // In several files, so that the index is met too.
  return llama::writeFolder(folder + "/merged", config, merged, at::kFloat, llama::Naming::HuggingFace, 100'000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: expc-llm-export FOLDER\n");
    return 2;
  }
  if (llvm::Error error = write(argv[1])) {
    fmt::print(stderr, "{}\n", llvm::toString(std::move(error)));
    return 1;
  }
  return 0;
}
