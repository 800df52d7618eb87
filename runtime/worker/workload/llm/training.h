#pragma once

// One rank's fine-tuning: rows, decoder, gradients between ranks and optimiser, put together once and then run step
// by step. training.cpp has the steps, finetune.cpp the metrics, checkpoints and results.

#include <ATen/core/Tensor.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/model/safetensors.h"
#include "runtime/data/text/batches.h"
#include "runtime/data/text/questions.h"
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

/// The source of what is tuned; a written model repeats its conventions and its tokenizer.
struct Origin {
  std::string model_folder;                           // "" for a named model
  llama::Naming naming = llama::Naming::HuggingFace;  // the folder's, which a written model keeps
  std::string tokenizer;                              // the file that the study names; "": the model folder's own
};

/// One forward pass's inputs, on the device.
struct TokenPass {
  llama::Sequences input;
  llama::Labelled labelled;
  at::Tensor beside;       // a tensor that was sent with the batch, if any
  at::Tensor row_weights;  // fp64 [rows or pairs]: how much each counts; undefined: all count 1
};

/// Turns batches of tokens into tensors on the rank's device.
class TokenFeed {
 public:
  /// `pinned` puts batches into page-locked memory before they are copied, if the device has such. The device must
  /// outlive the feed.
  TokenFeed(device::Device& device, bool pinned);

  /// Queues copies of a batch and of `beside`, another host tensor that the pass needs. The result may be used on the
  /// device's stream at once.
  TokenPass send(text::TokenBatch batch, const at::Tensor& beside = {});

 private:
  at::Tensor toDevice(at::Tensor host, std::vector<at::Tensor>& kept);

  device::Device& device_;
  std::unique_ptr<device::CopyQueue> queue_;  // null if the device's memory is the host's
  device::HostMemory pinned_;
  std::optional<device::InFlight> in_flight_;  // present if there is a queue
};

/// The work of this rank in timed steps.
struct Work {
  double tokens = 0;    // tokens without padding
  double computed = 0;  // tokens with padding
  double flops = 0;     // operations that the model needs (NeededFlops)

  double padding() const { return (computed - tokens) / computed; }
};

/// An evaluation on held-out rows; rewards are DPO's.
struct Evaluation {
  double loss = 0;  // mean over learnt tokens, or over rows or pairs, by their weights
  std::optional<double> margin, accuracy;
  std::optional<double> answered, unquantised;  // shares of right answers; of qat's full weights
};

/// The training of llm.finetune.
class Training : public workload::Training {
 public:
  /// The metrics that trials of each kind measure.
  static std::vector<Metric> metrics();
  /// Reads the rows, builds the decoder, connects the ranks and does one untimed all-reduce. If DPO trains every
  /// weight, it also computes all reference log-probabilities of the trial, while the model is still the reference.
  /// With epochs in the settings rows are held out and the learning rate follows the recipes' schedule; without, all
  /// steps are alike. The context must outlive the training.
  static Expected<std::unique_ptr<Training>> create(TrialContext& context, const Parameters& parameters,
                                                    const Settings& settings);

  /// Always returns true: after an epoch's last item the next epoch begins.
  Expected<bool> step() override;
  /// A step in which each rank has the rows with the longest texts of all.
  Expected<bool> widestStep() override;
  int64_t stepsPerEpoch() const override { return order_->stepsPerEpoch(); }
  int64_t stepsOf(int64_t epochs) const override;
  int64_t evaluatesEvery() const override;
  Error addEvaluation(Course& course) override;
  double loadWaitSeconds() const override { return load_wait_; }
  void describe(json::Object& environment) const override;
  void beginTimed() override { work_ = {}; }
  std::vector<profile::Measure> measure(const Clocked& clocked, int64_t steps) override;
  Snapshot snapshot() override;
  Error restore(const safetensors::File& model, const safetensors::File& rest, const Done& done) override;
  json::Object counts() const override;
  Expected<QualityResult> judge(Course& course) override;
  Expected<std::vector<std::string>> leave(const CheckpointFolder& folder, int64_t epochs) override;

 private:
  Training(TrialContext& context, const Parameters& parameters)
      : workload::Training(context), parameters_(parameters) {}
  /// Reads rows and makes model, optimiser and, for DPO, references.
  Error build(const Settings& settings);
  /// Brings the reducer into the state that it has after a first pass (before restore()).
  Error rehearse();
  /// Without epochs in the settings the rate is constant.
  void buildOptimizer(const Settings& settings);
  /// The rate of each step of a quality trial. Notes what the number of steps makes of it.
  optimizer::WarmupSchedule schedule(int64_t steps);
  /// Computes by a model the reference for all pairs that so many steps and the evaluation will see.
  Error prepareReferences(llama::Decoder& model, int64_t steps);
  /// Computes the reference by another model, which must have as many tokens and is in memory only while it does.
  Error askOtherModel(int64_t vocabulary, int64_t steps);
  /// Computes and stores the reference for these pairs, each rank its part. A collective.
  Error askReference(llama::Decoder& model, const std::vector<int64_t>& pairs, bool held_out);
  /// Losses and rewards of a pass's pairs.
  llama::DpoResult preferences(const TokenPass& pass, ArrayRef<int64_t> pairs, bool held_out);
  /// The reference's log-probabilities of a pass's rows, stored or computed now.
  at::Tensor reference(const TokenPass& pass, ArrayRef<int64_t> pairs, bool held_out);
  /// The numbers of pairs' rows among all rows of the trial: chosen ones first, then rejected ones.
  std::vector<int64_t> referenceRows(ArrayRef<int64_t> pairs, bool held_out) const;
  /// The sum of a pass's losses, each times its weight: of tokens, rows or pairs. Of pairs also `rewards`, if asked.
  at::Tensor lossSum(const TokenPass& pass, ArrayRef<int64_t> items, bool held_out,
                     llama::DpoResult* rewards = nullptr);
  /// One step with the items that `of` gives each pass.
  Error take(double weight, const std::function<std::vector<int64_t>(int64_t pass)>& of);
  /// The items with the longest texts, as many as a batch has. A collective.
  Expected<std::vector<int64_t>> widestItems();
  /// The divisor of a step's losses: the weights of all its items, of all passes and ranks. Every rank knows it
  /// beforehand (Items::tell), so a step needs no message for it.
  double weightOfStep();
  /// Makes tokens for this rank's part of the next steps, and tells the other ranks their weights. A collective.
  Error prepareSteps(int64_t count);
  /// A batch of these items on the device; adds the time to the time waited for data.
  Expected<TokenPass> load(bool held_out, ArrayRef<int64_t> items);
  /// Evaluates the held-out rows, each once over all ranks, and adds the time to the course. Changes nothing that a
  /// later step depends on. A collective.
  Expected<Evaluation> evaluate(Course& course);
  /// Asks the model the study's questions, on every rank the same, and returns the share of right answers. A
  /// collective.
  double answered();
  /// Whether greedy decoding gives the answer of a question.
  bool gives(const text::Question& question);
  /// The operations needed, as a share of those that the devices could do in that time. The latter is measured after
  /// the clock with products of square matrices: no table of peaks knows a slice of a CPU, or a GPU whose clocks are
  /// held down.
  std::optional<double> utilisation(double flops, double wall);

  Parameters parameters_;
  Origin origin_;
  std::unique_ptr<llama::Decoder> decoder_;
  std::optional<RowSets> rows_;
  std::optional<Order> order_;
  std::optional<TokenFeed> feed_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;  // of the questions, if there are any
  std::vector<text::Question> questions_;
  std::optional<comm::DataParallel> reducer_;  // present if several ranks have all weights each (ddp)
  std::optional<llama::ReferenceLogProbs> references_;
  std::optional<llama::Steps> steps_;
  std::optional<NeededFlops> flops_;
  Work work_;
  std::optional<Evaluation> evaluated_;  // after the last step
  double load_wait_ = 0;
  Ranks ranks_;
  int64_t prepared_ = 0, prepared_at_once_ = 1;  // steps whose tokens are made, and steps per preparation
};

/// The workload llm.finetune (stdlib/llm.exp, docs/semantics.md §2 to §8).
Workload finetune();

}  // namespace expc::workload::llm
