#include "runtime/worker/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <cstdint>
#include <map>
#include <utility>

namespace expc::optim {

Optimizer::Optimizer(std::vector<at::Tensor> parameters, double rate)
    : parameters_(std::move(parameters)), learning_rate_(rate) {
  for (const at::Tensor& parameter : parameters_) plain_.push_back(parameter.detach());
}

void Optimizer::zeroGrad() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

at::Tensor Optimizer::stateLike(size_t parameter, const std::string&) const {
  return at::empty_like(parameters_[parameter].detach());
}

llvm::Error Optimizer::restore(const State& state) {
  at::NoGradGuard no_grad;
  const std::vector<std::string> names = stateNames();
  std::map<std::string, at::Tensor> given(state.begin(), state.end());
  std::map<size_t, std::vector<at::Tensor>> found;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    std::vector<at::Tensor> tensors;
    for (const std::string& name : names) {
      const auto at = given.find(std::to_string(i) + "." + name);
      if (at == given.end()) break;
      at::Tensor own = stateLike(i, name);
      if (own.sizes() != at->second.sizes())
        return llvm::createStringError("the optimiser's state " + at->first + " has another shape than its parameter");
      tensors.push_back(own.copy_(at->second));
      given.erase(at);
    }
    if (tensors.empty()) continue;
    if (tensors.size() < names.size())
      return llvm::createStringError("the optimiser's state has no " + std::to_string(i) + "." + names[tensors.size()]);
    found[i] = std::move(tensors);
  }
  if (!given.empty())
    return llvm::createStringError("the optimiser's state " + given.begin()->first + " belongs to no parameter of it");
  reset();
  for (auto& [parameter, tensors] : found) restoreOne(parameter, std::move(tensors));
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
