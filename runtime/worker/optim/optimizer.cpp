#include "runtime/worker/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <cstdint>
#include <map>
#include <utility>

namespace expc::optim {

Optimizer::Optimizer(std::vector<at::Tensor> parameters, double rate, const std::vector<std::string>& remembered)
    : parameters_(std::move(parameters)), learning_rate_(rate) {
  for (const at::Tensor& parameter : parameters_) plain_.push_back(parameter.detach());
  for (const std::string& name : remembered) memory_.push_back({name, std::vector<at::Tensor>(parameters_.size())});
}

void Optimizer::zeroGrad() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

at::Tensor Optimizer::fresh(size_t parameter, const std::string&) const { return at::zeros_like(plain_[parameter]); }

void Optimizer::remember(size_t parameter) {
  for (Remembered& each : memory_)
    if (!each.of[parameter].defined()) each.of[parameter] = fresh(parameter, each.name);
}

Optimizer::State Optimizer::state() const {
  State result;
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (const Remembered& each : memory_)
      if (each.of[i].defined()) result.emplace_back(std::to_string(i) + "." + each.name, each.of[i]);
  return result;
}

llvm::Error Optimizer::restore(const State& state) {
  at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> given(state.begin(), state.end());
  std::vector<Remembered> restored = memory_;
  for (Remembered& each : restored) each.of.assign(parameters_.size(), {});
  for (size_t i = 0; i < parameters_.size(); ++i) {
    size_t found = 0;
    for (; found < restored.size(); ++found) {
      auto& [name, of] = restored[found];
      const auto at = given.find(std::to_string(i) + "." + name);
      if (at == given.end()) break;
      of[i] = fresh(i, name);
      if (of[i].sizes() != at->second.sizes())
        return llvm::createStringError("the optimiser's state " + at->first + " has another shape than its parameter");
      of[i].copy_(at->second);
      given.erase(at);
    }
    if (found > 0 && found < restored.size())
      return llvm::createStringError("the optimiser's state has no " + std::to_string(i) + "." + restored[found].name);
  }
  if (!given.empty())
    return llvm::createStringError("the optimiser's state " + given.begin()->first + " belongs to no parameter of it");
  memory_ = std::move(restored);
  return llvm::Error::success();
}

at::Tensor Optimizer::alignedGradient(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  // The fused kernels walk both in memory order. Strides of dimensions of size 1 say nothing about that.
  bool same = gradient.scalar_type() == parameter.scalar_type();
  for (int64_t i = 0; same && i < parameter.dim(); ++i)
    same = parameter.size(i) == 1 || parameter.stride(i) == gradient.stride(i);
  return same ? gradient : at::empty_like(parameter.detach()).copy_(gradient);
}

}  // namespace expc::optim
