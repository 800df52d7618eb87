#include "runtime/worker/llama/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Work : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor&)> run;
  std::vector<at::Tensor> parameters;
};

/// Gradients of the parameters come out of this node, so that whatever waits for them (accumulation, a reducer) sees
/// them as without it.
struct Checkpointed : torch::autograd::Function<Checkpointed> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList,
                            const c10::intrusive_ptr<Work>& work) {
    ctx->save_for_backward({x});
    ctx->saved_data["work"] = c10::IValue::make_capsule(work);
    return work->run(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto capsule = ctx->saved_data["work"].toCapsule();
    const auto& work = static_cast<const Work&>(*capsule);
    const bool towards_x = ctx->needs_input_grad(0);
    const at::Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_(towards_x);
    variable_list wanted;
    if (towards_x) wanted.push_back(x);
    for (const at::Tensor& parameter : work.parameters)
      if (parameter.requires_grad()) wanted.push_back(parameter);
    at::Tensor y;
    {
      at::AutoGradMode again(true);
      y = work.run(x);
    }
    const variable_list found = torch::autograd::grad({y}, wanted, {gradients[0]}, /*retain_graph=*/false,
                                                      /*create_graph=*/false, /*allow_unused=*/true);
    variable_list result(2 + work.parameters.size());
    size_t next = 0;
    if (towards_x) result[0] = found[next++];
    for (size_t i = 0; i < work.parameters.size(); ++i)
      if (work.parameters[i].requires_grad()) result[1 + i] = found[next++];
    return result;
  }
};

}  // namespace

at::Tensor checkpointed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                        std::function<at::Tensor(const at::Tensor&)> work) {
  auto shared = c10::make_intrusive<Work>();
  shared->run = std::move(work);
  shared->parameters = parameters;
  return Checkpointed::apply(x, at::TensorList(shared->parameters), shared);
}

}  // namespace expc::llama
