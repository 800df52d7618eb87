// Measures what three training steps of a Llama model hold at most, in the allocator of the CPU. Reads a line for each
// measurement, words NAME=VALUE named as the parameters of llm.finetune (stdlib/llm.exp); answers each with the peak in
// bytes, that of the weights alone, and what is held between steps, of the rank with the highest peak. Ranks are
// forked.
//
//   echo 'model=tiny method=lora precision=fp32 batch=2 max_length=128' | expc-llama-memory

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "runtime/worker/comm/data_parallel.h"
#include "runtime/worker/comm/test_ranks.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/steps.h"
#include "tests/memory/counting_allocator.h"

namespace expc::memory {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  fmt::print(stderr, "{}\n", text);
  std::exit(2);
}

class Setting {
 public:
  explicit Setting(llvm::StringRef line) {
    llvm::SmallVector<llvm::StringRef> words;
    line.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (const llvm::StringRef word : words) {
      const auto [name, value] = word.split('=');
      values_[name] = value.str();
    }
  }

  std::string text(llvm::StringRef name, llvm::StringRef otherwise) const {
    const auto at = values_.find(name);
    return at == values_.end() ? otherwise.str() : at->second;
  }
  int64_t number(llvm::StringRef name, int64_t otherwise) const {
    const std::string written = text(name, std::to_string(otherwise));
    int64_t value = 0;
    if (llvm::StringRef(written).getAsInteger(10, value))
      refuse(fmt::format("{} is no number: {}", name.str(), written));
    return value;
  }
  bool flag(llvm::StringRef name) const { return text(name, "false") == "true"; }

 private:
  llvm::StringMap<std::string> values_;
};

at::ScalarType typeOf(const std::string& precision) {
  if (precision == "fp64") return at::kDouble;
  if (precision == "fp32") return at::kFloat;
  if (precision == "fp16") return at::kHalf;
  if (precision == "bf16") return at::kBFloat16;
  refuse("no precision: " + precision);
}

llama::DecoderOptions optionsOf(const Setting& setting) {
  llama::DecoderOptions options;
  const std::string method = setting.text("method", "lora");
  options.dtype = typeOf(setting.text("precision", "fp32"));
  options.max_length = setting.number("max_length", 128);
  options.activation_checkpointing = setting.flag("activation_checkpointing");
  options.nf4 = method == "qlora";
  if (method == "lora" || method == "qlora" || (method == "dpo" && setting.text("dpo_base", "lora") == "lora")) {
    options.lora = llama::LoraOptions();
    options.lora->rank = setting.number("rank", 8);
    const auto targets = llama::targetRoles(setting.text("targets", "qvo_mlp"));
    if (!targets) refuse("no such targets");
    options.lora->targets = *targets;
  }
  if (method == "qat")
    options.qat = llama::QatOptions{setting.number("group_size", 256), setting.text("qat_weights", "kept") == "kept"
                                                                           ? llama::QuantCopies::Kept
                                                                           : llama::QuantCopies::Recomputed};
  return options;
}

/// Rows as a batch has them: packed, all full, of two samples each; else the first is full, and a third
/// of each of the others padding, as where rows are from half to one and a half times their mean long.
struct Batch {
  llama::Sequences input;
  llama::Labelled labelled;
};

Batch batchOf(const Setting& setting, const llama::Config& config) {
  const bool packed = setting.flag("packing");
  const int64_t rows = setting.number("batch", 2) * (setting.text("method", "lora") == "dpo" ? 2 : 1);
  const int64_t length = setting.number("max_length", 128);
  Batch batch;
  batch.input.tokens = at::randint(0, config.vocabulary, {rows, length}, at::kLong);
  at::Tensor labels = batch.input.tokens.clone();
  labels.select(1, 0).fill_(llama::kIgnored);
  if (packed) {
    const int64_t half = length / 2;
    const at::Tensor places = at::arange(length, at::kLong), first = places < half;
    batch.input.positions = at::where(first, places, places - half).expand({rows, length}).contiguous();
    for (int64_t row = 0; row < rows; ++row)
      batch.input.documents.lengths.insert(batch.input.documents.lengths.end(), {half, length - half});
    labels.select(1, half).fill_(llama::kIgnored);
  } else {
    for (int64_t row = 1; row < rows; ++row)
      labels[row].narrow(0, length * 2 / 3, length - length * 2 / 3).fill_(llama::kIgnored);
  }
  batch.labelled = llama::labelledPositions(labels);
  return batch;
}

/// A model that is being tuned, alone or with other ranks.
struct Training {
  llama::Decoder& decoder;
  llama::Steps steps;
  std::optional<comm::DataParallel> reducer;
};

/// As the workload does a step: passes that add up gradients, then the optimiser.
void trainStep(const Setting& setting, Training& training, const Batch& batch) {
  const bool pairs = setting.text("method", "lora") == "dpo";
  llama::Decoder& decoder = training.decoder;
  const int64_t passes = setting.number("accumulation", 1);
  for (int64_t pass = 0; pass < passes; ++pass) {
    const bool reduces = training.reducer && pass + 1 == passes;
    if (reduces) training.reducer->beforeForward();
    at::Tensor loss;
    if (pairs) {
      const at::Tensor reference = decoder.referenceLogProbs(batch.input, batch.labelled);
      loss = llama::dpo(decoder.rowLogProbs(batch.input, batch.labelled), reference, {}).losses.mean();
    } else {
      loss = decoder.lossSum(batch.input, batch.labelled) / batch.labelled.count();
    }
    if (reduces) training.reducer->beforeBackward();
    training.steps.add(loss);
  }
  training.steps.finish();
}

std::string measure(const Setting& setting, comm::Communicator* ranks) {
  const llama::Config config = llama::namedConfig(setting.text("model", "tiny")).value();
  llama::DecoderOptions options = optionsOf(setting);
  const bool sharded = ranks != nullptr && setting.text("sharding", "fsdp") == "fsdp";
  if (sharded) options.sharding = llama::Sharding{ranks};
  const int64_t before = held();
  llama::Decoder decoder(config, options, 1, llama::randomWeights(1, options.dtype));
  const int64_t weights = held() - before;
  auto optimizer = setting.text("optimizer", "adamw") == "sgd"
                       ? optim::makeSgd(decoder.trainableTensors(), {.learning_rate = 1e-3})
                       : optim::makeAdam(decoder.trainableTensors(), {.learning_rate = 1e-3, .decoupled = true});
  std::optional<llama::Together> together;
  if (sharded) together = llama::Together{ranks, decoder.trainsParts()};
  Training training{
      decoder,
      llama::Steps(std::move(optimizer), decoder.trainableTensors(), std::nullopt, /*largest_norm=*/0, together),
      {}};
  if (ranks != nullptr && !sharded)
    training.reducer.emplace(*ranks, decoder.trainableTensors(), std::vector<at::Tensor>());
  const Batch batch = batchOf(setting, config);
  for (int64_t step = 0; step < 3; ++step) {
    resetPeak();
    trainStep(setting, training, batch);
  }
  return fmt::format("{} {} {}", peak() - before, weights, held() - before);
}

/// In processes of their own: what one measurement leaves behind is not in the next.
void measureRanks(const Setting& setting) {
  const auto ranks = static_cast<unsigned>(setting.number("gpus", 1));
  const auto config = llama::namedConfig(setting.text("model", "tiny"));
  if (!config) refuse("no model of that name");
  if (auto error = llama::checkOptions(*config, optionsOf(setting))) refuse(llvm::toString(std::move(error)));
  const auto outcomes = comm::runRanks(ranks, std::chrono::minutes(10), std::chrono::minutes(30),
                                       [&](const comm::Rendezvous& rendezvous) {
                                         at::set_num_threads(1);  // some kernels hold something for each thread
                                         if (ranks == 1) return measure(setting, nullptr);
                                         const auto communicator = comm::Communicator::open(rendezvous);
                                         const std::string found = measure(setting, communicator.get());
                                         communicator->barrier();
                                         communicator->shutdown();
                                         return found;
                                       });
  int64_t most = -1;
  std::string said;
  for (const comm::RankOutcome& outcome : outcomes) {
    int64_t bytes = 0;
    if (llvm::StringRef(outcome.said).split(' ').first.getAsInteger(10, bytes))
      refuse("a rank ended with: " + outcome.said);
    if (bytes > most) most = bytes, said = outcome.said;
  }
  fmt::print("{}\n", said);
  std::fflush(stdout);
}

}  // namespace
}  // namespace expc::memory

int main() {
  expc::memory::countTensors();
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) expc::memory::measureRanks(expc::memory::Setting(line));
}
