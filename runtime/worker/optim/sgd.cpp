#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/worker/optim/optimizer.h"

namespace expc::optim {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<at::Tensor> parameters, const SgdOptions& options)
      : Optimizer(std::move(parameters), options.learning_rate, namesOf(options)), options_(options) {}

  void step(const at::Tensor& overflow) override {
    at::NoGradGuard no_grad;
    for (List* list : {&tensors_, &gradients_, &used_}) list->clear();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      tensors_.push_back(plain_[i]);
      gradients_.push_back(alignedGradient(parameters_[i]));
      if (options_.momentum == 0) continue;
      remember(i);  // zeros become the first gradient, as it is, and stay zeros where that step overflows
      used_.push_back(memory_[0].of[i]);
    }
    if (tensors_.empty()) return;
    at::_fused_sgd_(tensors_, gradients_, used_, options_.weight_decay, options_.momentum, learning_rate_,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false,
                    /*grad_scale=*/std::nullopt, ifDefined(overflow));
    gradients_.clear();  // else they would live on beside those of the next step
  }

 private:
  using List = std::vector<at::Tensor>;
  static std::vector<std::string> namesOf(const SgdOptions& options) {
    return options.momentum == 0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum_buffer"};
  }

  SgdOptions options_;
  List tensors_, gradients_, used_;  // kept so that a step allocates nothing
};

}  // namespace

std::unique_ptr<Optimizer> makeSgd(std::vector<at::Tensor> parameters, const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace expc::optim
