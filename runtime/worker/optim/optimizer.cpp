#include "runtime/worker/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <utility>

namespace expc::optim {

void Optimizer::zeroGrad(bool set_to_none) {
  at::NoGradGuard no_grad;
  for (at::Tensor& parameter : parameters_) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined()) continue;
    if (set_to_none)
      gradient.reset();
    else
      gradient.zero_();
  }
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
