// How a fine-tuning goes on: snapshots, and the way back from one.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/worker/model/state_file.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

constexpr char kOptimizer[] = "optimizer.";
constexpr char kReferences[] = "references";

llvm::Error failure(const std::string& text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

}  // namespace

at::Tensor Training::ofAllRanks(const at::Tensor& own) {
  return at::stack(context_.communicator.allGather(own.detach().contiguous())).to(at::kCPU);
}

Training::Snapshot Training::snapshot() {
  Snapshot result;
  const bool parts = decoder_->trainsParts();
  const auto kept = [&](const at::Tensor& tensor) { return parts ? ofAllRanks(tensor) : tensor.detach(); };
  for (const auto& [name, tensor] : decoder_->trainable()) result.model.push_back({name, kept(tensor)});
  for (const auto& [name, tensor] : steps_->optimizer().state())
    result.rest.push_back({kOptimizer + name, kept(tensor)});
  // Each rank knows those of the rows that it saw.
  if (references_) result.rest.push_back({kReferences, ofAllRanks(references_->values())});
  const precision::GradScaler::State scaler = steps_->scalerState();
  result.numbers = llvm::json::Object{{"steps", steps_done_},
                                      {"passes", static_cast<int64_t>(decoder_->passes())},
                                      {"steps of an epoch", stepsPerEpoch()},
                                      {"training rows", rows_->train.count()},
                                      {"rows held out", rows_->held_out.count()},
                                      {"scale", scaler.scale},
                                      {"good steps", scaler.good_steps},
                                      {"skipped steps", scaler.skipped}};
  return result;
}

/// One pass whose gradients are dropped. The reducer lays its buckets out anew after its first pass; with three ranks
/// or more their bounds decide the order of sums, and the training that goes on has left its first pass behind.
void Training::rehearse() {
  if (!reducer_) return;
  const std::vector<int64_t> items = order_->items(0, 0, context_.communicator.rank());
  const TokenPass pass = load(rows_->train, items);
  reducer_->beforeForward();
  const at::Tensor loss = share(pass, items, weightOfStep());
  reducer_->beforeBackward();
  torch::autograd::backward({loss});
  steps_->optimizer().zeroGrad();
}

llvm::Error Training::restore(const io::SafeTensors& model, const io::SafeTensors& rest,
                              const llvm::json::Object& numbers) {
  const auto steps = numbers.getInteger("steps"), passes = numbers.getInteger("passes"),
             good = numbers.getInteger("good steps"), skipped = numbers.getInteger("skipped steps");
  const auto scale = numbers.getNumber("scale");
  if (!steps || !passes || !scale || !good || !skipped)
    return failure(rest.path() + ": its checkpoint.json lacks numbers");
  if (numbers.getInteger("steps of an epoch") != stepsPerEpoch() ||
      numbers.getInteger("training rows") != rows_->train.count() ||
      numbers.getInteger("rows held out") != rows_->held_out.count())
    return failure(
        fmt::format("{} was written with other rows than there are now in {}: remove its folder to begin "
                    "the trial anew",
                    rest.path(), rows_->origin));
  rehearse();
  const int64_t rank = context_.communicator.rank();
  const bool parts = decoder_->trainsParts();
  std::vector<model::NamedTensor> own, weights;
  for (const auto& [name, tensor] : decoder_->trainable()) {
    own.push_back({name, tensor.detach()});
    weights.push_back({name, tensor.detach()});
    if (parts) {
      std::vector<int64_t> shape = tensor.sizes().vec();
      shape.insert(shape.begin(), context_.spec.world_size);
      weights.back().tensor = at::empty(shape, tensor.options().device(at::kCPU).requires_grad(false));
    }
  }
  if (auto error = model::loadState(model, weights)) return error;
  if (parts)
    for (size_t i = 0; i < own.size(); ++i) own[i].tensor.copy_(weights[i].tensor[rank]);

  optim::Optimizer::State state;
  at::Tensor references;
  for (const io::TensorInfo& info : rest.tensors()) {
    auto tensor = model::readTensor(rest, info.name);
    if (!tensor) return tensor.takeError();
    llvm::StringRef name = info.name;
    const bool of_all = parts || name == kReferences;
    if (of_all && (tensor->dim() == 0 || tensor->size(0) != static_cast<int64_t>(context_.spec.world_size)))
      return failure(fmt::format("{}: tensor {} is not of {} ranks", rest.path(), info.name, context_.spec.world_size));
    const at::Tensor of_rank = of_all ? (*tensor)[rank].clone() : *tensor;
    if (name == kReferences)
      references = of_rank;
    else if (name.consume_front(kOptimizer))
      state.emplace_back(name.str(), of_rank);
    else
      return failure(fmt::format("{}: tensor {} means nothing to this build", rest.path(), info.name));
  }
  if (auto error = steps_->optimizer().restore(state))
    return failure(rest.path() + ": " + llvm::toString(std::move(error)));
  if (references_ && (!references.defined() || !references_->restore(references)))
    return failure(rest.path() + ": the reference's log-probabilities are not those of these rows");
  steps_->restore({*scale, *good, *skipped}, *steps);
  decoder_->setPasses(static_cast<uint64_t>(*passes));
  steps_done_ = *steps;
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>> Training::save(const std::string& folder) {
  return saveArtefacts(*decoder_, parameters_, origin_, folder, context_.communicator.rank() == 0);
}

}  // namespace expc::workload::llm
