#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cassert>
#include <iterator>

#include "runtime/worker/optim/optimizer.h"

namespace expc::optim {
namespace {

class Adam : public Optimizer {
 public:
  Adam(const std::vector<at::Tensor>& parameters, const AdamOptions& options)
      : Optimizer(parameters, options.learning_rate, namesOf(parameters)), options_(options) {
    for (const at::Tensor& parameter : parameters_) assert(isHalf(parameter) == half() && "all are fp16, or none");
  }

  void step(const at::Tensor& overflow) override {
    at::NoGradGuard no_grad;
    for (List* list : {&tensors_, &gradients_, &first_used_, &second_used_, &steps_used_}) list->clear();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      remember(i);
      const at::Tensor gradient = alignedGradient(parameters_[i]);
      tensors_.push_back(half() ? memory_[kMaster].of[i] : plain_[i]);
      gradients_.push_back(half() ? gradient.to(at::kFloat) : gradient);
      first_used_.push_back(memory_[kFirst].of[i]);
      second_used_.push_back(memory_[kSecond].of[i]);
      steps_used_.push_back(memory_[kStep].of[i]);
    }
    if (tensors_.empty()) return;
    if (overflow.defined())
      at::_foreach_add_(steps_used_, 1 - overflow);
    else
      at::_foreach_add_(steps_used_, 1);
    const bool amsgrad = false, maximize = false;
    if (options_.decoupled)
      at::_fused_adamw_(tensors_, gradients_, first_used_, second_used_, {}, steps_used_, learning_rate_,
                        options_.beta1, options_.beta2, options_.weight_decay, options_.epsilon, amsgrad, maximize,
                        /*grad_scale=*/std::nullopt, ifDefined(overflow));
    else
      at::_fused_adam_(tensors_, gradients_, first_used_, second_used_, {}, steps_used_, learning_rate_, options_.beta1,
                       options_.beta2, options_.weight_decay, options_.epsilon, amsgrad, maximize,
                       /*grad_scale=*/std::nullopt, ifDefined(overflow));
    gradients_.clear();  // else they would live on beside those of the next step
    for (size_t i = 0; half() && i < parameters_.size(); ++i)
      if (const at::Tensor& master = memory_[kMaster].of[i]; master.defined()) plain_[i].copy_(master);
  }

 protected:
  at::Tensor fresh(size_t parameter, const std::string& name) const override {
    const at::Tensor& plain = plain_[parameter];
    if (name == kNames[kStep]) return at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(plain.device()));
    if (name == kNames[kMaster]) return plain.to(at::kFloat);
    return half() ? at::zeros_like(plain, at::TensorOptions().dtype(at::kFloat)) : Optimizer::fresh(parameter, name);
  }

 private:
  using List = std::vector<at::Tensor>;
  enum { kFirst, kSecond, kStep, kMaster };  // the last of fp16 parameters: fp32 copies of them
  static constexpr const char* kNames[] = {"exp_avg", "exp_avg_sq", "step", "master"};
  static bool isHalf(const at::Tensor& tensor) { return tensor.scalar_type() == at::kHalf; }
  static std::vector<std::string> namesOf(const List& parameters) {
    const bool half = !parameters.empty() && isHalf(parameters.front());
    return {std::begin(kNames), std::end(kNames) - (half ? 0 : 1)};
  }
  bool half() const { return memory_.size() > kMaster; }

  AdamOptions options_;
  List tensors_, gradients_, first_used_, second_used_, steps_used_;  // kept so that a step allocates nothing
};

}  // namespace

std::unique_ptr<Optimizer> makeAdam(std::vector<at::Tensor> parameters, const AdamOptions& options) {
  return std::make_unique<Adam>(parameters, options);
}

}  // namespace expc::optim
