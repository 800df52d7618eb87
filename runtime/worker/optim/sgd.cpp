#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>

#include "runtime/worker/optim/optimizer.h"

namespace expc::optim {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<at::Tensor> parameters, const SgdOptions& options)
      : Optimizer(std::move(parameters), options.learning_rate), options_(options), buffers_(parameters_.size()) {}

  void step() override {
    at::NoGradGuard no_grad;
    // Parameters without a buffer take the gradient as it is, in a call of their own; after the others, since that
    // makes them one of these.
    update(false);
    update(true);
  }

  State state() const override {
    State result;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (buffers_[i].defined()) result.emplace_back(std::to_string(i) + ".momentum_buffer", buffers_[i]);
    return result;
  }

 protected:
  std::vector<std::string> stateNames() const override {
    return options_.momentum == 0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum_buffer"};
  }
  void restoreOne(size_t parameter, std::vector<at::Tensor> tensors) override {
    buffers_[parameter] = std::move(tensors[0]);
    started_[parameter] = true;
  }
  void reset() override {
    buffers_.assign(parameters_.size(), {});
    started_.assign(parameters_.size(), false);
  }

 private:
  void update(bool first) {
    tensors_.clear();
    gradients_.clear();
    used_.clear();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined() || started_[i] == first) continue;
      tensors_.push_back(parameters_[i].detach());
      gradients_.push_back(alignedGradient(parameters_[i]));
      if (options_.momentum == 0) continue;
      if (first) buffers_[i] = at::empty_like(tensors_.back());
      used_.push_back(buffers_[i]);
    }
    if (tensors_.empty()) return;
    at::_fused_sgd_(tensors_, gradients_, used_, options_.weight_decay, options_.momentum, learning_rate_,
                    /*dampening=*/0, options_.nesterov, /*maximize=*/false, first);
    gradients_.clear();  // else they would live on beside those of the next step
    if (first)
      for (size_t i = 0; i < parameters_.size(); ++i)
        if (parameters_[i].grad().defined()) started_[i] = true;
  }

  SgdOptions options_;
  std::vector<at::Tensor> buffers_;
  std::vector<bool> started_ = std::vector<bool>(parameters_.size(), false);
  std::vector<at::Tensor> tensors_, gradients_, used_;  // kept so that a step allocates nothing
};

}  // namespace

std::unique_ptr<Optimizer> makeSgd(std::vector<at::Tensor> parameters, const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace expc::optim
