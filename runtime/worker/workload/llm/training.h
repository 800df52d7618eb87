#pragma once

// One rank's fine-tuning: rows, decoder, gradients between ranks and optimiser, put together once and then run step by
// step. All kinds of trial use it.

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/worker/comm/data_parallel.h"
#include "runtime/worker/io/safetensors.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/steps.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/llm/artefacts.h"
#include "runtime/worker/workload/llm/flops.h"
#include "runtime/worker/workload/llm/order.h"
#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/llm/rows.h"
#include "runtime/worker/workload/llm/token_feed.h"
#include "runtime/worker/workload/parameter_reader.h"
#include "runtime/worker/workload/stepping.h"

namespace expc::workload::llm {

/// What this rank computed so far.
struct Work {
  double tokens = 0;    // padding not counted
  double computed = 0;  // with padding
  double flops = 0;     // that the model needs
};

/// What rows held out say of a model; rewards of dpo only.
struct Evaluation {
  double loss = 0;  // mean over tokens, or over pairs
  std::optional<double> margin, accuracy;
};

class Training : public Stepping {
 public:
  /// Reads the rows, builds the decoder, connects the ranks, does one untimed all-reduce and, where every weight is
  /// tuned by dpo, asks the model as it is for all log-probabilities that the trial will need. With epochs in the
  /// settings rows are held out and the schedule of the step width is the recipes'; without, steps are all alike. The
  /// context must live longer.
  static llvm::Expected<std::unique_ptr<Training>> create(TrialContext& context, const Parameters& parameters,
                                                          const Settings& settings);

  /// Always true: after the last item of an epoch the next one begins.
  llvm::Expected<bool> step() override;
  double loadWaitSeconds() const override { return load_wait_; }

  /// What computes attention, as a result records it.
  const char* attention() const { return decoder_->attention().name(); }
  int64_t stepsPerEpoch() const { return order_->stepsPerEpoch(); }
  int64_t itemsPerStep() const { return order_->itemsPerStep(); }
  int64_t items() const { return rows_->train.count(); }
  const Work& work() const { return work_; }

  /// Losses of the steps since the last call: means over the tokens (dpo: pairs) of all ranks. An error names the first
  /// step whose loss is not finite. Waits for the device, talks to the other ranks.
  llvm::Expected<std::vector<double>> takeLosses() override;
  /// Of the rows held out, each once over all ranks.
  llvm::Expected<Evaluation> evaluate();
  /// What a training has to remember between two steps: what is trained apart.
  struct Snapshot {
    std::vector<model::NamedTensor> model, rest;
    llvm::json::Object numbers;
  };
  /// Every rank calls it, the first one gets the tensors: on its host where each rank had a part, else the training's
  /// own, which change with the next step.
  Snapshot snapshot();
  /// Goes on from a snapshot that another training of the same trial wrote, as if that one had not stopped. Every rank
  /// calls it, before the first step. An error says what does not fit.
  llvm::Error restore(const io::SafeTensors& model, const io::SafeTensors& rest, const llvm::json::Object& numbers);
  /// Leaves what was tuned in a folder, and says what lies where. Every rank calls it, after the last step.
  llvm::Expected<std::vector<std::string>> save(const std::string& folder);
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  Training(TrialContext& context, const Parameters& parameters) : context_(context), parameters_(parameters) {}
  llvm::Error build(const Settings& settings);
  llvm::Error rehearse();
  llvm::Error checkLengths() const;
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

  TrialContext& context_;
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
  std::optional<profile::Range> epoch_range_;
  std::vector<at::Tensor> losses_;
  std::vector<std::string> notes_;
  Work work_;
  double load_wait_ = 0;
  int64_t steps_done_ = 0;
  Ranks ranks_;
  int64_t prepared_ = 0, prepared_at_once_ = 1;  // steps
};

}  // namespace expc::workload::llm
