// The loss is a few operators on [pairs]. Most of this file remembers log-probabilities of the reference model.

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

DpoResult dpo(const at::Tensor& policy, const at::Tensor& reference, const DpoOptions& options,
              const at::Tensor& lengths) {
  assert(policy.dim() == 1 && policy.size(0) % 2 == 0 && policy.sizes() == reference.sizes());
  const int64_t pairs = policy.size(0) / 2;
  // Log-probabilities gained over the reference; z is their difference between the two answers.
  const at::Tensor gained = policy - reference.to(policy.options());
  const auto side = [&](const at::Tensor& of, int64_t which) { return of.narrow(0, which * pairs, pairs); };
  const at::Tensor scored = options.by_length ? gained / lengths.to(gained.options()) : gained;
  const at::Tensor z = side(scored, 0) - side(scored, 1);
  DpoResult result;
  if (options.kind == DpoOptions::Kind::Ipo) {
    result.losses = (z - 1 / (2 * options.beta)).square();
  } else {
    // log_sigmoid rather than log(sigmoid): it does not overflow for large margins.
    result.losses = -at::log_sigmoid(z * options.beta);
    if (options.smoothing > 0)
      result.losses = result.losses * (1 - options.smoothing) - at::log_sigmoid(z * -options.beta) * options.smoothing;
  }
  result.chosen_rewards = side(gained, 0).detach() * options.beta;
  result.rejected_rewards = side(gained, 1).detach() * options.beta;
  return result;
}

ReferenceLogProbs::ReferenceLogProbs(int64_t rows, comm::Communicator* together, at::Device device)
    : together_(together),
      values_(
          at::full({rows}, std::numeric_limits<double>::quiet_NaN(), at::TensorOptions(at::kDouble).device(device))),
      known_(rows) {}

at::Tensor ReferenceLogProbs::of(ArrayRef<int64_t> ids, const std::function<at::Tensor()>& compute,
                                 const at::Tensor& places) {
  at::NoGradGuard no_grad;
  bool missing = llvm::any_of(ids, [&](int64_t id) { return !known_.at(size_t(id)); });
  // One rank without a value makes all compute: in a sharded pass everyone must take part.
  if (together_) missing = together_->allReduce(missing ? 1.0 : 0.0, comm::Reduction::Max) > 0;
  // The ids as an index on the device.
  const at::Tensor where = places.defined() ? places : at::tensor(ids, at::kLong).to(values_.device());
  if (missing) {
    const at::Tensor all = compute().to(values_.options());
    assert(all.numel() == std::ssize(ids) && "one for each row");
    values_.index_copy_(0, where, all);
    for (const int64_t id : ids) known_[id] = true;
  }
  return values_.index_select(0, where);
}

at::Tensor ReferenceLogProbs::values() const { return values_.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true); }

bool ReferenceLogProbs::restore(const at::Tensor& values) {
  if (values.sizes() != values_.sizes() || values.scalar_type() != at::kDouble) return false;
  // NaN marks a value that is not known, so a checkpoint needs no second list.
  const at::Tensor own = values.to(at::kCPU).contiguous();
  for (size_t i = 0; i < known_.size(); ++i) known_[i] = !std::isnan(own.const_data_ptr<double>()[i]);
  values_.copy_(own);
  return true;
}

int64_t ReferenceLogProbs::known() const { return std::ranges::count(known_, true); }

}  // namespace expc::llama
