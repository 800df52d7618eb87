#include "runtime/worker/llama/steps.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/worker/optim/clip.h"

namespace expc::llama {

Steps::Steps(std::unique_ptr<optim::Optimizer> optimizer, std::vector<at::Tensor> parameters,
             std::optional<optim::WarmupCosine> schedule, double largest_norm)
    : optimizer_(std::move(optimizer)),
      parameters_(std::move(parameters)),
      schedule_(schedule),
      largest_norm_(largest_norm),
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
  scaler_.step(parameters_, [&] { optimizer_->step(); });
  optimizer_->zeroGrad();
  ++done_;
  return std::exchange(loss_, at::Tensor());
}

StepResult Steps::finish() {
  assert(weight_ > 0 && "something was added");
  StepResult result;
  if (schedule_) optimizer_->setLearningRate(schedule_->rate(done_));
  result.rate = optimizer_->learningRate();
  result.weight = weight_;
  scaler_.step(parameters_, [&] {
    optim::scaleGradients(parameters_, 1 / weight_);
    result.gradient_norm = optim::clipGradients(parameters_, largest_norm_);
    optimizer_->step();
  });
  optimizer_->zeroGrad();
  result.loss = loss_.item<double>() / weight_;
  loss_.reset();
  weight_ = 0;
  ++done_;
  return result;
}

}  // namespace expc::llama
