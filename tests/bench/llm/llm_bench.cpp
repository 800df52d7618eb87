// Times training steps of a small Llama on one batch of random tokens, without loading; llm.py's own side.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/steps.h"
#include "tests/bench/program.h"

using namespace expc;

namespace {

llama::Config configOf(const bench::Options& option) {
  llama::Config config = *llama::namedConfig("tiny");
  config.vocabulary = option.number("vocabulary");
  config.width = option.number("width");
  config.layers = option.number("layers");
  config.heads = option.number("heads");
  config.kv_heads = option.number("kv_heads");
  config.head_width = config.width / config.heads;
  config.mlp_width = option.number("mlp_width");
  return config;
}

llama::DecoderOptions decoderOptions(const bench::Options& option, at::ScalarType type) {
  const std::string& method = option["method"];
  llama::DecoderOptions options;
  options.dtype = type;
  options.max_length = option.number("length");
  if (method == "lora" || method == "dpo" || method == "qlora")
    options.lora = llama::LoraOptions{8, 16, 0, *llama::targetRoles("qkvo_mlp")};
  options.nf4 = method == "qlora";
  if (method == "qat") options.qat = llama::QatOptions{256, llama::QuantCopies::Recomputed};
  if (method == "qat_kept") options.qat = llama::QatOptions{256, llama::QuantCopies::Kept};
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options option({{"method", "lora"},
                         {"precision", "fp32"},
                         {"threads", "2"},
                         {"batch", "2"},
                         {"length", "256"},
                         {"vocabulary", "8192"},
                         {"width", "256"},
                         {"layers", "4"},
                         {"heads", "8"},
                         {"kv_heads", "4"},
                         {"mlp_width", "1024"}});
  if (!option.read(argc, argv)) return 2;
  device::keepFreedMemory();  // as the worker does
  at::set_num_threads(int(option.number("threads")));
  at::manual_seed(0);
  const std::map<std::string, at::ScalarType> types{
      {"fp64", at::kDouble}, {"fp32", at::kFloat}, {"bf16", at::kBFloat16}, {"fp16", at::kHalf}};
  const auto type = types.find(option["precision"]);
  if (type == types.end()) return 2;
  const llama::Config config = configOf(option);
  const llama::DecoderOptions options = decoderOptions(option, type->second);
  if (llvm::Error error = llama::checkOptions(config, options)) {
    fmt::print(stderr, "step: {}\n", llvm::toString(std::move(error)));
    return 2;
  }
  llama::Decoder decoder(config, options, 1, llama::randomWeights(1, options.dtype));
  const int64_t rows = option.number("batch");
  const llama::Sequences input{
      at::randint(config.vocabulary, {rows, options.max_length}, at::TensorOptions(at::kLong)), {}, {}};
  const llama::Labelled labelled = llama::labelledPositions(input.tokens);
  const auto trained = decoder.trainableTensors();
  llama::Steps steps(optimizer::makeAdam(trained, {.learning_rate = 1e-4, .weight_decay = 0.01, .decoupled = true}),
                     trained, std::nullopt, 0);
  llama::ReferenceLogProbs reference(rows);
  std::vector<int64_t> all_rows(static_cast<size_t>(rows));
  for (size_t i = 0; i < all_rows.size(); ++i) all_rows[i] = int64_t(i);

  bench::serve([&] {
    if (option["method"] == "dpo") {
      const at::Tensor base = reference.of(all_rows, [&] { return decoder.referenceLogProbs(input, labelled); });
      steps.add(llama::dpo(decoder.rowLogProbs(input, labelled), base, {.beta = 0.1}).losses.mean());
    } else {
      steps.add(decoder.lossSum(input, labelled) / labelled.count());
    }
    steps.finish().loss.item<double>();
  });
}
