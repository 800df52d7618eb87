#include "runtime/worker/llama/steps.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/worker/optim/clip.h"

namespace expc::llama {

namespace {
constexpr size_t kBucketBytes = 25 << 20;
}

Steps::Steps(std::unique_ptr<optim::Optimizer> optimizer, std::vector<at::Tensor> parameters,
             std::optional<optim::WarmupCosine> schedule, double largest_norm, std::optional<Together> together)
    : optimizer_(std::move(optimizer)),
      parameters_(std::move(parameters)),
      schedule_(schedule),
      largest_norm_(largest_norm),
      together_(together),
      scaler_(std::any_of(parameters_.begin(), parameters_.end(),
                          [](const at::Tensor& p) { return p.scalar_type() == at::kHalf; }),
              parameters_.front().device()) {}

void Steps::add(const at::Tensor& loss, double weight) {
  torch::autograd::backward({scaler_.scale(loss)});
  loss_ = loss_.defined() ? loss_ + loss.detach() : loss.detach();
  weight_ += weight;
}

void Steps::addShare(const at::Tensor& share, double factor) {
  torch::autograd::backward({scaler_.scale(factor == 1 ? share : share * factor)});
  loss_ = loss_.defined() ? loss_ + share.detach() : share.detach();
}

at::Tensor Steps::finishShares() {
  assert(loss_.defined() && weight_ == 0 && largest_norm_ == 0 && "a step of shares, without clipping");
  if (schedule_) optimizer_->setLearningRate(schedule_->rate(done_));
  std::function<void(at::Tensor&)> all_overflows;
  if (together_ && together_->parts)
    all_overflows = [&](at::Tensor& found) { together_->communicator->allReduce(found, comm::Reduction::Max); };
  else if (together_)
    sumGradients();
  scaler_.step(parameters_, [&] { optimizer_->step(); }, all_overflows);
  optimizer_->zeroGrad();
  ++done_;
  return std::exchange(loss_, at::Tensor());
}

void Steps::sumGradients() {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  together_->communicator->allReduceAll(gradients, comm::Reduction::Sum, kBucketBytes);
}

StepResult Steps::finish() {
  StepResult result;
  double loss = loss_.defined() ? loss_.item<double>() : 0;
  std::function<double(double)> all_squares;
  std::function<void(at::Tensor&)> all_overflows;
  if (together_) {
    comm::Communicator& ranks = *together_->communicator;
    const std::vector<double> sums = ranks.allReduce({loss, weight_}, comm::Reduction::Sum);
    loss = sums[0];
    weight_ = sums[1];
    if (together_->parts) {
      all_squares = [&](double square) { return ranks.allReduce(square, comm::Reduction::Sum); };
      all_overflows = [&](at::Tensor& found) { ranks.allReduce(found, comm::Reduction::Max); };
    } else {
      sumGradients();
    }
  }
  assert(weight_ > 0 && "something was added");
  if (schedule_) optimizer_->setLearningRate(schedule_->rate(done_));
  result.rate = optimizer_->learningRate();
  result.weight = weight_;
  const auto update = [&] {
    optim::scaleGradients(parameters_, 1 / weight_);
    result.gradient_norm = optim::clipGradients(parameters_, largest_norm_, all_squares);
    optimizer_->step();
  };
  scaler_.step(parameters_, update, all_overflows);
  optimizer_->zeroGrad();
  result.loss = loss / weight_;
  loss_.reset();
  weight_ = 0;
  ++done_;
  return result;
}

}  // namespace expc::llama
