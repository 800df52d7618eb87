#include "runtime/worker/optim/clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>

namespace expc::optim {
namespace {

std::vector<at::Tensor> gradientsOf(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  return gradients;
}

}  // namespace

double clipGradients(const std::vector<at::Tensor>& parameters, double largest,
                     const std::function<double(double)>& total) {
  at::NoGradGuard no_grad;
  const auto gradients = gradientsOf(parameters);
  double norm = 0;
  if (!gradients.empty()) norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2))).item<double>();
  if (total) norm = std::sqrt(total(norm * norm));
  if (largest > 0 && !gradients.empty()) at::_foreach_mul_(gradients, std::min(1.0, largest / (norm + 1e-6)));
  return norm;
}

void scaleGradients(const std::vector<at::Tensor>& parameters, double factor) {
  at::NoGradGuard no_grad;
  const auto gradients = gradientsOf(parameters);
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor);
}

}  // namespace expc::optim
