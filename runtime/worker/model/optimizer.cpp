#include "runtime/worker/model/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numbers>
#include <utility>

#include "runtime/base/failure.h"

namespace expc::optimizer {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<at::Tensor> parameters, const SgdOptions& options)
      : Optimizer(std::move(parameters), options.learning_rate, namesOf(options), options.undecayed),
        options_(options) {}

  void step(const at::Tensor& overflow) override {
    at::NoGradGuard no_grad;
    if (!gather()) return;
    // Zeros become the first gradient, as it is, and stay zeros where that step overflows.
    const List none, &momenta = memory_.empty() ? none : memory_[0].used;
    byDecay(options_.weight_decay, [&](const auto& cut, double decay) {
      at::_fused_sgd_(cut(tensors_), cut(gradients_), cut(momenta), decay, options_.momentum, learning_rate_,
                      /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false,
                      /*grad_scale=*/std::nullopt, ifDefined(overflow));
    });
    gradients_.clear();  // else they would live on beside those of the next step
  }

 private:
  static std::vector<std::string> namesOf(const SgdOptions& options) {
    return options.momentum == 0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum_buffer"};
  }

  SgdOptions options_;
};

class Adam : public Optimizer {
 public:
  Adam(const std::vector<at::Tensor>& parameters, const AdamOptions& options)
      : Optimizer(parameters, options.learning_rate, namesOf(parameters), options.undecayed), options_(options) {
    for ([[maybe_unused]] const at::Tensor& parameter : parameters_)
      assert(isHalf(parameter) == half() && "all are fp16, or none");
  }

  void step(const at::Tensor& overflow) override {
    at::NoGradGuard no_grad;
    if (!gather()) return;
    if (half())
      for (at::Tensor& gradient : gradients_) gradient = gradient.to(at::kFloat);
    const List &tensors = half() ? memory_[kMaster].used : tensors_, &steps = memory_[kStep].used;
    if (overflow.defined())
      at::_foreach_add_(steps, 1 - overflow);
    else
      at::_foreach_add_(steps, 1);
    const List &first = memory_[kFirst].used, &second = memory_[kSecond].used;
    const bool amsgrad = false, maximize = false;
    byDecay(options_.weight_decay, [&](const auto& cut, double decay) {
      const auto update = [&](auto kernel) {
        kernel(cut(tensors), cut(gradients_), cut(first), cut(second), {}, cut(steps), learning_rate_, options_.beta1,
               options_.beta2, decay, options_.epsilon, amsgrad, maximize, /*grad_scale=*/std::nullopt,
               ifDefined(overflow));
      };
      using Kernel = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                              at::TensorList, double, double, double, double, double, bool, bool,
                              const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);
      update(options_.decoupled ? Kernel(at::_fused_adamw_) : Kernel(at::_fused_adam_));
    });
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
  enum { kFirst, kSecond, kStep, kMaster };  // the last of fp16 parameters: fp32 copies of them
  static constexpr const char* kNames[] = {"exp_avg", "exp_avg_sq", "step", "master"};
  static bool isHalf(const at::Tensor& tensor) { return tensor.scalar_type() == at::kHalf; }
  static std::vector<std::string> namesOf(const List& parameters) {
    const bool half = !parameters.empty() && isHalf(parameters.front());
    return {std::begin(kNames), std::end(kNames) - (half ? 0 : 1)};
  }
  bool half() const { return memory_.size() > kMaster; }

  AdamOptions options_;
};

}  // namespace

Optimizer::Optimizer(std::vector<at::Tensor> parameters, double rate, const std::vector<std::string>& remembered,
                     Undecayed undecayed)
    : parameters_(std::move(parameters)), undecayed_(std::move(undecayed)), learning_rate_(rate) {
  assert(undecayed_.empty() || undecayed_.size() == parameters_.size());
  for (const at::Tensor& parameter : parameters_) plain_.push_back(parameter.detach());
  for (const std::string& name : remembered) memory_.push_back({name, List(parameters_.size()), {}});
}

void Optimizer::zeroGrad() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

at::Tensor Optimizer::fresh(size_t parameter, const std::string&) const { return at::zeros_like(plain_[parameter]); }

bool Optimizer::gather() {
  tensors_.clear();
  gradients_.clear();
  found_.clear();
  for (Remembered& each : memory_) each.used.clear();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    found_.push_back(i);
    tensors_.push_back(plain_[i]);
    gradients_.push_back(alignedGradient(parameters_[i]));
    for (Remembered& each : memory_) {
      if (!each.of[i].defined()) each.of[i] = fresh(i, each.name);
      each.used.push_back(each.of[i]);
    }
  }
  return !tensors_.empty();
}

template <typename Update>
void Optimizer::byDecay(double weight_decay, Update update) const {
  const auto all = [](const List& list) -> const List& { return list; };
  if (undecayed_.empty()) return update(all, weight_decay);
  for (const bool decays : {true, false}) {
    // The elements of each parameter found: the listed ones, or the gaps between them.
    std::vector<std::vector<Elements>> taken;
    bool any = false;
    for (const size_t parameter : found_) {
      std::vector<Elements>& own = taken.emplace_back();
      int64_t begin = 0;
      for (const Elements& listed : undecayed_[parameter]) {
        own.push_back(decays ? Elements{begin, listed.first} : listed);
        begin = listed.second;
      }
      if (decays) own.emplace_back(begin, plain_[parameter].numel());
      std::erase_if(own, [](const Elements& one) { return one.first == one.second; });
      any |= !own.empty();
    }
    const auto cut = [&](const List& list) {
      List result;
      for (size_t i = 0; i < list.size(); ++i)
        for (const auto& [first, last] : taken[i])
          // A number, such as a count of steps, is that of the whole parameter.
          result.push_back(list[i].dim() == 0 ? list[i] : list[i].view({-1}).narrow(0, first, last - first));
      return result;
    };
    if (any) update(cut, decays ? weight_decay : 0.0);
  }
}

Optimizer::State Optimizer::state() const {
  State result;
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (const Remembered& each : memory_)
      if (each.of[i].defined()) result.emplace_back(std::to_string(i) + "." + each.name, each.of[i]);
  return result;
}

Error Optimizer::restore(const State& state) {
  at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> given(state.begin(), state.end());
  std::vector<Remembered> restored = memory_;
  for (Remembered& each : restored) each.of.assign(parameters_.size(), {});
  for (size_t i = 0; i < parameters_.size(); ++i) {
    size_t found = 0;
    for (; found < restored.size(); ++found) {
      auto& [name, of, used] = restored[found];
      const auto at = given.find(std::to_string(i) + "." + name);
      if (at == given.end()) break;
      of[i] = fresh(i, name);
      if (of[i].sizes() != at->second.sizes())
        return failure("the optimiser's state {} has another shape than its parameter", at->first);
      of[i].copy_(at->second);
      given.erase(at);
    }
    if (found > 0 && found < restored.size())
      return failure("the optimiser's state has no {}.{}", i, restored[found].name);
  }
  if (!given.empty()) return failure("the optimiser's state {} belongs to no parameter of it", given.begin()->first);
  memory_ = std::move(restored);
  return Error::success();
}

at::Tensor Optimizer::alignedGradient(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  // The fused kernels walk both in memory order. Strides of dimensions of size 1 say nothing about that.
  bool same = gradient.scalar_type() == parameter.scalar_type();
  for (int64_t i = 0; same && i < parameter.dim(); ++i)
    same = parameter.size(i) == 1 || parameter.stride(i) == gradient.stride(i);
  return same ? gradient : at::empty_like(parameter.detach()).copy_(gradient);
}

std::unique_ptr<Optimizer> makeSgd(std::vector<at::Tensor> parameters, const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

std::unique_ptr<Optimizer> makeAdam(std::vector<at::Tensor> parameters, const AdamOptions& options) {
  return std::make_unique<Adam>(parameters, options);
}

at::Tensor clipGradients(const std::vector<at::Tensor>& parameters, double largest,
                         const std::function<void(at::Tensor&)>& total) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  const auto options = at::TensorOptions(at::kDouble).device(parameters.front().device());
  at::Tensor norm = gradients.empty()
                        ? at::zeros({}, options)
                        : at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2))).to(at::kDouble);
  if (total) {
    norm = norm.square();
    total(norm);
    norm = norm.sqrt();
  }
  if (largest <= 0 || gradients.empty()) return norm;
  at::Tensor factor = at::full({}, largest, options).div(norm + 1e-6).clamp_max(1.0);
  // One kernel multiplies all gradients of a GPU only by a factor of their type, which is what torch's has.
  if (!factor.is_cpu()) factor = factor.to(gradients.front().scalar_type());
  at::_foreach_mul_(gradients, factor);
  return norm;
}

double Schedule::rate(int64_t step) const {
  if (step < warmup_steps) return base * (kWarmupStart + (1 - kWarmupStart) * double(step) / double(warmup_steps));
  const int64_t after = step - warmup_steps;
  if (kind == ScheduleKind::Step) return base * std::pow(kDecay, double(after / epoch_steps));
  if (kind == ScheduleKind::Constant) return base;
  const auto length = double(std::max<int64_t>(1, total_steps - warmup_steps));
  return base / 2 * (1 + std::cos(std::numbers::pi * double(after) / length));
}

double WarmupSchedule::rate(int64_t step) const {
  if (step < warmup_steps) return base * double(step) / double(warmup_steps);
  // The rate falls over the last `length` steps.
  const int64_t falling = kind == Kind::StableDecay ? decay_steps : total_steps - warmup_steps;
  const auto length = double(std::max<int64_t>(1, falling));
  const double place = double(std::max<int64_t>(0, step - (total_steps - falling))) / length;
  double part = 1;
  if (kind == Kind::Cosine) part = 0.5 * (1 + std::cos(std::numbers::pi * place));
  if (kind == Kind::Linear || kind == Kind::StableDecay) part = 1 - place;
  return base * (floor + (1 - floor) * std::max(0.0, part));
}

}  // namespace expc::optimizer
