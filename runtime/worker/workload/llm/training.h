#pragma once

// One rank's fine-tuning: rows, decoder, gradients between ranks and optimiser, put together once and then run step by
// step.

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/io/safetensors.h"
#include "runtime/data/text/batches.h"
#include "runtime/worker/comm/data_parallel.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/llama/steps.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/llm/model.h"
#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/llm/rows.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload::llm {

/// Where what was tuned came from.
struct Origin {
  std::string model_folder;                           // "": a named model
  llama::Naming naming = llama::Naming::HuggingFace;  // of the tensors in it, and in a model that is written
  std::string tokenizer;                              // the file that the study names; "": the model folder's own
};

/// What a pass of the decoder takes.
struct TokenPass {
  llama::Sequences input;
  llama::Labelled labelled;
  at::Tensor beside;  // what was sent with the batch, if anything
};

/// From a batch of tokens to tensors on the rank's device.
class TokenFeed {
 public:
  /// `pinned`: what crosses lies in page-locked memory, where there is a device that reads it. The device must live
  /// longer.
  TokenFeed(device::Device& device, bool pinned);

  /// `beside`: a tensor of the host that the pass needs as well.
  TokenPass send(text::TokenBatch batch, const at::Tensor& beside = {});

 private:
  at::Tensor toDevice(at::Tensor host, std::vector<at::Tensor>& kept);

  device::Device& device_;
  std::unique_ptr<device::CopyQueue> queue_;  // null: the device's memory is the host's
  device::HostMemory pinned_;
  std::optional<device::InFlight> in_flight_;  // where there is a queue
};

/// What this rank computed in timed steps.
struct Work {
  double tokens = 0;    // padding not counted
  double computed = 0;  // with padding
  double flops = 0;     // that the model needs

  double padding() const { return (computed - tokens) / computed; }
};

/// What rows held out say of a model; rewards of dpo only.
struct Evaluation {
  double loss = 0;  // mean over tokens, or over pairs
  std::optional<double> margin, accuracy;
};

class Training : public workload::Training {
 public:
  /// What trials of each kind measure.
  static std::vector<Metric> metrics();
  /// Reads the rows, builds the decoder, connects the ranks, does one untimed all-reduce and, where every weight is
  /// tuned by dpo, asks the model as it is for all log-probabilities that the trial will need. With epochs in the
  /// settings rows are held out and the schedule of the step width is the recipes'; without, steps are all alike. The
  /// context must live longer.
  static llvm::Expected<std::unique_ptr<Training>> create(TrialContext& context, const Parameters& parameters,
                                                          const Settings& settings);

  /// Always true: after the last item of an epoch the next one begins.
  llvm::Expected<bool> step() override;
  int64_t stepsPerEpoch() const override { return order_->stepsPerEpoch(); }
  double loadWaitSeconds() const override { return load_wait_; }
  void describe(llvm::json::Object& environment) const override;
  void beginTimed() override { work_ = {}; }
  std::vector<profile::Measure> measure(const Clocked& clocked, int64_t steps) override;
  Snapshot snapshot() override;
  llvm::Error restore(const io::SafeTensors& model, const io::SafeTensors& rest, const Done& done) override;
  llvm::json::Object counts() const override;
  llvm::Expected<QualityResult> judge(Course& course) override;
  llvm::Expected<std::vector<std::string>> leave(const CheckpointFolder& folder, int64_t epochs) override;

 private:
  Training(TrialContext& context, const Parameters& parameters)
      : workload::Training(context), parameters_(parameters) {}
  llvm::Error build(const Settings& settings);
  llvm::Error rehearse();
  void buildOptimizer(const Settings& settings);
  /// Asks for the reference of all pairs that so many steps and the evaluation will see.
  llvm::Error prepareReferences(int64_t steps);
  llvm::Error askReference(const std::vector<int64_t>& pairs, bool held_out);
  /// The reference's log-probabilities of a pass, and their numbers among all rows.
  at::Tensor reference(const TokenPass& pass, llvm::ArrayRef<int64_t> pairs, bool held_out);
  std::vector<int64_t> referenceRows(llvm::ArrayRef<int64_t> pairs, bool held_out) const;
  /// What a pass adds to the loss of its step, whose weight is `weight`.
  at::Tensor share(const TokenPass& pass, llvm::ArrayRef<int64_t> items, double weight);
  /// By which a step's losses are divided: tokens that are learnt, or pairs, of all passes and ranks. Every rank knows
  /// them beforehand, so that nothing need be sent.
  double weightOfStep();
  /// Makes tokens of what this rank takes in the next steps, and tells the others how much of it is learnt.
  llvm::Error prepareSteps(int64_t count);
  llvm::Expected<TokenPass> load(bool held_out, llvm::ArrayRef<int64_t> items);
  /// Of the rows held out, each once over all ranks.
  llvm::Expected<Evaluation> evaluate();
  /// Operations needed over what the devices could do in that time. What they could do is measured, after the clock,
  /// with products of square matrices: no table of peaks knows a slice of a CPU or a card whose clocks are held down.
  std::optional<double> utilisation(double flops, double wall);

  Parameters parameters_;
  Origin origin_;
  std::unique_ptr<llama::Decoder> decoder_;
  std::optional<RowSets> rows_;
  std::optional<Order> order_;
  std::optional<TokenFeed> feed_;
  std::optional<comm::DataParallel> reducer_;  // where several ranks have all weights each
  std::optional<llama::ReferenceLogProbs> references_;
  std::optional<llama::Steps> steps_;
  std::optional<NeededFlops> flops_;
  Work work_;
  double load_wait_ = 0;
  Ranks ranks_;
  int64_t prepared_ = 0, prepared_at_once_ = 1;  // steps
};

/// llm.finetune (stdlib/llm.exp, docs/semantics.md §2 to §8).
Workload finetune();

}  // namespace expc::workload::llm
