#include "runtime/worker/llama/dpo.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace expc::llama {

double DpoResult::accuracy() const { return (chosen_rewards > rejected_rewards).to(at::kDouble).mean().item<double>(); }
double DpoResult::margin() const { return (chosen_rewards - rejected_rewards).to(at::kDouble).mean().item<double>(); }

DpoResult dpo(const at::Tensor& policy, const at::Tensor& reference, const DpoOptions& options) {
  assert(policy.dim() == 1 && policy.size(0) % 2 == 0 && policy.sizes() == reference.sizes());
  const int64_t pairs = policy.size(0) / 2;
  const at::Tensor gained = policy - reference.to(policy.options());
  const at::Tensor chosen = gained.narrow(0, 0, pairs), rejected = gained.narrow(0, pairs, pairs);
  const at::Tensor z = (chosen - rejected) * options.beta;
  DpoResult result;
  result.losses = -at::log_sigmoid(z) * (1 - options.label_smoothing);
  if (options.label_smoothing != 0) result.losses = result.losses - at::log_sigmoid(-z) * options.label_smoothing;
  result.chosen_rewards = chosen.detach() * options.beta;
  result.rejected_rewards = rejected.detach() * options.beta;
  return result;
}

ReferenceLogProbs::ReferenceLogProbs(int64_t rows, comm::Communicator* together)
    : together_(together), values_(static_cast<size_t>(rows), std::numeric_limits<double>::quiet_NaN()) {}

at::Tensor ReferenceLogProbs::of(llvm::ArrayRef<int64_t> ids, const std::function<at::Tensor()>& compute) {
  bool missing = llvm::any_of(ids, [&](int64_t id) { return std::isnan(values_.at(static_cast<size_t>(id))); });
  if (together_ != nullptr) missing = together_->allReduce(missing ? 1.0 : 0.0, comm::Reduction::Max) > 0;
  if (missing) {
    at::NoGradGuard no_grad;
    const at::Tensor all = compute().to(at::kCPU, at::kDouble).contiguous();
    assert(all.numel() == static_cast<int64_t>(ids.size()) && "one for each row");
    for (size_t i = 0; i < ids.size(); ++i) values_[static_cast<size_t>(ids[i])] = all.const_data_ptr<double>()[i];
  }
  at::Tensor result = at::empty({static_cast<int64_t>(ids.size())}, at::TensorOptions().dtype(at::kDouble));
  for (size_t i = 0; i < ids.size(); ++i) result.mutable_data_ptr<double>()[i] = values_[static_cast<size_t>(ids[i])];
  return result;
}

at::Tensor ReferenceLogProbs::values() const { return at::tensor(values_, at::kDouble); }

bool ReferenceLogProbs::restore(const at::Tensor& values) {
  if (values.dim() != 1 || values.size(0) != static_cast<int64_t>(values_.size()) ||
      values.scalar_type() != at::kDouble)
    return false;
  const at::Tensor own = values.to(at::kCPU).contiguous();
  values_.assign(own.const_data_ptr<double>(), own.const_data_ptr<double>() + own.numel());
  return true;
}

int64_t ReferenceLogProbs::known() const {
  return std::count_if(values_.begin(), values_.end(), [](double value) { return !std::isnan(value); });
}

}  // namespace expc::llama
