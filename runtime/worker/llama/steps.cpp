// The order within a step: reduce gradients, set the rate, check for overflow (fp16), clip, step, drop gradients.

#include "runtime/worker/llama/steps.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/worker/model/optimizer.h"

namespace expc::llama {

// The size of DistributedDataParallel's buckets: large enough for the network, small enough not to double the memory.
constexpr size_t kBucketBytes = 25 << 20;

Steps::Steps(std::unique_ptr<optimizer::Optimizer> optimizer, std::vector<at::Tensor> parameters,
             std::optional<optimizer::WarmupSchedule> schedule, double largest_norm, std::optional<Together> together)
    : optimizer_(std::move(optimizer)),
      parameters_(std::move(parameters)),
      schedule_(schedule),
      largest_norm_(largest_norm),
      together_(together),
      scaler_(std::ranges::any_of(parameters_, [](const at::Tensor& p) { return p.scalar_type() == at::kHalf; }),
              parameters_.front().device()) {}

// The loss is collected without the scale and the factor, which are for gradients only.
void Steps::add(const at::Tensor& share, double factor) {
  torch::autograd::backward({scaler_.scale(factor == 1 ? share : share * factor)});
  loss_ = loss_.defined() ? loss_ + share.detach() : share.detach();
}

StepResult Steps::finish() {
  assert(loss_.defined() && "something was added");
  // With parts, norms and overflows need the other ranks' parts. With whole gradients they are summed here, so every
  // rank then sees the same values and decides alike.
  std::function<void(at::Tensor&)> all_squares;
  std::function<void(at::Tensor&)> all_overflows;
  if (together_ && together_->parts) {
    comm::Communicator& ranks = *together_->communicator;
    all_squares = [&](at::Tensor& square) { ranks.allReduce(square, comm::Reduction::Sum); };
    all_overflows = [&](at::Tensor& found) { ranks.allReduce(found, comm::Reduction::Max); };
  } else if (together_) {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
    together_->communicator->allReduceAll(gradients, comm::Reduction::Sum, kBucketBytes);
  }
  if (schedule_) optimizer_->setLearningRate(schedule_->rate(done_));
  // The sum of losses stays on the device; the caller reads it when it wants to wait.
  StepResult result{std::exchange(loss_, at::Tensor()), optimizer_->learningRate(), {}};
  // Clipping must see unscaled gradients: the scaler calls this after it has divided by its scale.
  const auto update = [&](const at::Tensor& overflow) {
    if (largest_norm_ > 0) result.gradient_norm = optimizer::clipGradients(parameters_, largest_norm_, all_squares);
    optimizer_->step(overflow);
  };
  scaler_.step(parameters_, update, all_overflows);
  optimizer_->zeroGrad();
  ++done_;
  return result;
}

}  // namespace expc::llama
