// Times training steps of a small Llama on one batch of random tokens, without loading. Reads a number of steps from
// each line of standard input and answers with a JSON array of [seconds, seconds of processor time], so that a script
// can take turns with other programs.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "runtime/worker/device/host.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/steps.h"

using namespace expc;

namespace {

using Options = std::map<std::string, std::string>;

llama::Config configOf(const Options& option) {
  llama::Config config = *llama::namedConfig("tiny");
  config.vocabulary = std::stoll(option.at("vocabulary"));
  config.width = std::stoll(option.at("width"));
  config.layers = std::stoll(option.at("layers"));
  config.heads = std::stoll(option.at("heads"));
  config.kv_heads = std::stoll(option.at("kv_heads"));
  config.head_width = config.width / config.heads;
  config.mlp_width = std::stoll(option.at("mlp_width"));
  return config;
}

llama::DecoderOptions decoderOptions(const Options& option, at::ScalarType type) {
  const std::string& method = option.at("method");
  llama::DecoderOptions options;
  options.dtype = type;
  options.max_length = std::stoll(option.at("length"));
  if (method == "lora" || method == "dpo" || method == "qlora")
    options.lora = llama::LoraOptions{8, 16, 0, *llama::targetRoles("qkvo_mlp")};
  options.nf4 = method == "qlora";
  if (method == "qat") options.qat = llama::QatOptions{256, llama::QuantCopies::Recomputed};
  if (method == "qat_kept") options.qat = llama::QatOptions{256, llama::QuantCopies::Kept};
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options option{{"method", "lora"}, {"precision", "fp32"},  {"threads", "2"},     {"batch", "2"},
                 {"length", "256"},  {"vocabulary", "8192"}, {"width", "256"},     {"layers", "4"},
                 {"heads", "8"},     {"kv_heads", "4"},      {"mlp_width", "1024"}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = std::string(argv[i]).substr(2);
    if (option.count(name) == 0) {
      fmt::print(stderr, "step: no option --{}\n", name);
      return 2;
    }
    option[name] = argv[i + 1];
  }
  device::keepFreedMemory();  // as the worker does
  at::set_num_threads(std::stoi(option["threads"]));
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
  llama::Decoder decoder(config, options, 1,
                         [&](const llama::TensorSpec& spec) { return llama::randomWeight(spec, 1, options.dtype); });
  const int64_t rows = std::stoll(option["batch"]);
  const llama::Sequences input{
      at::randint(config.vocabulary, {rows, options.max_length}, at::TensorOptions(at::kLong)), {}, {}};
  const llama::Labelled labelled = llama::labelledPositions(input.tokens);
  const auto trained = decoder.trainableTensors();
  llama::Steps steps(optim::makeAdam(trained, {.learning_rate = 1e-4, .weight_decay = 0.01, .decoupled = true}),
                     trained, std::nullopt, 0);
  llama::ReferenceLogProbs reference(rows);
  std::vector<int64_t> all_rows(static_cast<size_t>(rows));
  for (size_t i = 0; i < all_rows.size(); ++i) all_rows[i] = static_cast<int64_t>(i);

  const auto step = [&] {
    if (option["method"] == "dpo") {
      const at::Tensor base = reference.of(all_rows, [&] { return decoder.referenceLogProbs(input, labelled); });
      steps.addShare(llama::dpo(decoder.rowLogProbs(input, labelled), base, {}).losses.mean(), 1);
    } else {
      steps.addShare(decoder.lossSum(input, labelled) / static_cast<double>(labelled.count()), 1);
    }
    steps.finishShares().item<double>();
  };
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> seconds;
    for (int i = std::stoi(line); i > 0; --i) {
      const auto start = std::chrono::steady_clock::now();
      const std::clock_t used = std::clock();
      step();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      seconds.push_back(
          fmt::format("[{}, {}]", took.count(), static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC));
    }
    fmt::print("[{}]\n", fmt::join(seconds, ", "));
    std::fflush(stdout);
  }
}
