// How a fine-tuning goes on: snapshots, and the way back from one.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/base/failure.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/model/state_file.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

constexpr char kReferences[] = "references";

using base::failure;

}  // namespace

Snapshot Training::snapshot() {
  Snapshot result;
  const bool parts = decoder_->trainsParts(), keeps = context_.communicator.rank() == 0;
  const auto add = [&](std::vector<model::NamedTensor>& to, const std::string& name, const at::Tensor& own, bool all) {
    const at::Tensor tensor = all ? comm::gatherOnHost(context_.communicator, own, 0) : own.detach();
    if (keeps) to.push_back({name, tensor});
  };
  for (const auto& [name, tensor] : decoder_->trainable()) add(result.model, name, tensor, parts);
  for (const auto& [name, tensor] : steps_->optimizer().state()) add(result.rest, optimizerName(name), tensor, parts);
  // Each rank knows those of the rows that it saw.
  if (references_) add(result.rest, kReferences, references_->values(), true);
  result.done = {steps_done_, static_cast<int64_t>(decoder_->passes()), steps_->scalerState()};
  return result;
}

llvm::json::Object Training::counts() const {
  return llvm::json::Object{{"training rows", rows_->train.count()}, {"rows held out", rows_->held_out.count()}};
}

/// One pass whose gradients are dropped. The reducer lays its buckets out anew after its first pass; with three ranks
/// or more their bounds decide the order of sums, and the training that goes on has left its first pass behind.
llvm::Error Training::rehearse() {
  if (!reducer_) return llvm::Error::success();
  const std::vector<int64_t> items = order_->items(0, 0, context_.communicator.rank());
  auto loaded = load(/*held_out=*/false, items);
  if (!loaded) return loaded.takeError();
  const TokenPass pass = std::move(*loaded);
  reducer_->beforeForward();
  const at::Tensor loss = share(pass, items, weightOfStep());
  reducer_->beforeBackward();
  torch::autograd::backward({loss});
  steps_->optimizer().zeroGrad();
  return llvm::Error::success();
}

llvm::Error Training::restore(const io::SafeTensors& model, const io::SafeTensors& rest, const Done& done) {
  if (auto error = rehearse()) return error;
  const int64_t rank = context_.communicator.rank();
  const bool parts = decoder_->trainsParts();
  const auto ranks = static_cast<int64_t>(context_.spec.world_size);
  std::vector<model::NamedTensor> own;
  for (const auto& [name, tensor] : decoder_->trainable()) own.push_back({name, tensor.detach()});
  if (auto error = parts ? model::loadEntries(model, rank, ranks, own) : model::loadState(model, own)) return error;

  const auto read = [&](const io::TensorInfo& info) -> llvm::Expected<at::Tensor> {
    const bool of_all = parts || info.name == kReferences;
    if (of_all && (info.shape.empty() || info.shape[0] != ranks))
      return failure("{}: tensor {} is not of {} ranks", rest.path(), info.name, ranks);
    return model::tensorOf(of_all ? model::entryOf(info, rank, ranks) : info);
  };
  auto references = restoreOptimizer(steps_->optimizer(), rest, kReferences, read);
  if (!references) return references.takeError();
  if (references_ && (!references->defined() || !references_->restore(*references)))
    return failure("{}: the reference's log-probabilities are not those of these rows", rest.path());
  steps_->restore(done.scaler, done.steps);
  decoder_->setPasses(static_cast<uint64_t>(done.passes));
  steps_done_ = done.steps;
  return llvm::Error::success();
}

}  // namespace expc::workload::llm
