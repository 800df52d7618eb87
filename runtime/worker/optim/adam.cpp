#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cassert>

#include "runtime/worker/optim/optimizer.h"

namespace expc::optim {
namespace {

class Adam : public Optimizer {
 public:
  Adam(std::vector<at::Tensor> parameters, const AdamOptions& options)
      : Optimizer(std::move(parameters), options.learning_rate),
        options_(options),
        first_moment_(parameters_.size()),
        second_moment_(parameters_.size()),
        steps_(parameters_.size()),
        masters_(parameters_.size()) {
    half_ = !parameters_.empty() && isHalf(parameters_.front());
    for (const at::Tensor& parameter : parameters_) assert(isHalf(parameter) == half_ && "all are fp16, or none");
  }

  void step(const at::Tensor& overflow) override {
    at::NoGradGuard no_grad;
    for (List* list : {&tensors_, &gradients_, &first_used_, &second_used_, &steps_used_}) list->clear();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      if (half_) {
        if (!masters_[i].defined()) masters_[i] = plain_[i].to(at::kFloat);
        tensors_.push_back(masters_[i]);
        gradients_.push_back(alignedGradient(parameters_[i]).to(at::kFloat));
      } else {
        tensors_.push_back(plain_[i]);
        gradients_.push_back(alignedGradient(parameters_[i]));
      }
      if (!steps_[i].defined()) {
        first_moment_[i] = at::zeros_like(tensors_.back());
        second_moment_[i] = at::zeros_like(tensors_.back());
        steps_[i] = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(tensors_.back().device()));
      }
      first_used_.push_back(first_moment_[i]);
      second_used_.push_back(second_moment_[i]);
      steps_used_.push_back(steps_[i]);
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
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (masters_[i].defined()) plain_[i].copy_(masters_[i]);
  }

  State state() const override {
    State result;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!steps_[i].defined()) continue;
      const std::string index = std::to_string(i);
      result.emplace_back(index + ".exp_avg", first_moment_[i]);
      result.emplace_back(index + ".exp_avg_sq", second_moment_[i]);
      result.emplace_back(index + ".step", steps_[i]);
      if (half_) result.emplace_back(index + ".master", masters_[i]);
    }
    return result;
  }

 protected:
  std::vector<std::string> stateNames() const override {
    std::vector<std::string> names = {"exp_avg", "exp_avg_sq", "step"};
    if (half_) names.push_back("master");
    return names;
  }
  at::Tensor stateLike(size_t parameter, const std::string& name) const override {
    if (name != "step" && half_)
      return at::zeros_like(parameters_[parameter].detach(), at::TensorOptions().dtype(at::kFloat));
    if (name != "step") return Optimizer::stateLike(parameter, name);
    return at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(parameters_[parameter].device()));
  }
  void restoreOne(size_t parameter, std::vector<at::Tensor> tensors) override {
    first_moment_[parameter] = std::move(tensors[0]);
    second_moment_[parameter] = std::move(tensors[1]);
    steps_[parameter] = std::move(tensors[2]);
    if (half_) masters_[parameter] = std::move(tensors[3]);
  }
  void reset() override {
    for (List* list : {&first_moment_, &second_moment_, &steps_, &masters_}) list->assign(parameters_.size(), {});
  }

 private:
  using List = std::vector<at::Tensor>;

  static bool isHalf(const at::Tensor& tensor) { return tensor.scalar_type() == at::kHalf; }

  AdamOptions options_;
  List first_moment_, second_moment_, steps_;
  List masters_;  // fp32 copies of fp16 parameters
  bool half_ = false;
  List tensors_, gradients_, first_used_, second_used_, steps_used_;  // kept so that a step allocates nothing
};

}  // namespace

std::unique_ptr<Optimizer> makeAdam(std::vector<at::Tensor> parameters, const AdamOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options);
}

}  // namespace expc::optim
