#include "runtime/worker/optim/clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace expc::optim {

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

}  // namespace expc::optim
