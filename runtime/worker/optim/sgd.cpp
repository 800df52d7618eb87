#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/worker/optim/optimizer.h"

namespace expc::optim {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<at::Tensor> parameters, const SgdOptions& options)
      : Optimizer(std::move(parameters), options.learning_rate), options_(options), buffers_(parameters_.size()) {}

  void step(const at::Tensor& overflow) override {
    at::NoGradGuard no_grad;
    for (List* list : {&tensors_, &gradients_, &used_}) list->clear();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      tensors_.push_back(plain_[i]);
      gradients_.push_back(alignedGradient(parameters_[i]));
      if (options_.momentum == 0) continue;
      // Zeros become the first gradient, as it is, and stay zeros where that step overflows.
      if (!buffers_[i].defined()) buffers_[i] = at::zeros_like(plain_[i]);
      used_.push_back(buffers_[i]);
    }
    if (tensors_.empty()) return;
    at::_fused_sgd_(tensors_, gradients_, used_, options_.weight_decay, options_.momentum, learning_rate_,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false,
                    /*grad_scale=*/std::nullopt, ifDefined(overflow));
    gradients_.clear();  // else they would live on beside those of the next step
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
  }
  void reset() override { buffers_.assign(parameters_.size(), {}); }

 private:
  using List = std::vector<at::Tensor>;

  SgdOptions options_;
  List buffers_;
  List tensors_, gradients_, used_;  // kept so that a step allocates nothing
};

}  // namespace

std::unique_ptr<Optimizer> makeSgd(std::vector<at::Tensor> parameters, const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace expc::optim
