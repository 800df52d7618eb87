#include "runtime/worker/llama/layers.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double epsilon) {
    const at::ScalarType inner = accumulateType(x.scalar_type());
    const at::Tensor wide = x.to(inner);
    const at::Tensor inverse = wide.square().mean(-1, /*keepdim=*/true).add_(epsilon).rsqrt_();
    ctx->save_for_backward({x, scale, inverse});
    return (wide * inverse).mul_(scale.to(inner)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &inverse = saved[2];
    const at::ScalarType inner = inverse.scalar_type();
    const at::Tensor gradient = gradients[0].to(inner), unit = x.to(inner) * inverse;
    variable_list result(3);
    if (ctx->needs_input_grad(1))
      result[1] = (gradient * unit).reshape({-1, scale.size(0)}).sum(0).to(scale.scalar_type());
    if (ctx->needs_input_grad(0)) {
      at::Tensor inward = gradient * scale.to(inner);
      const at::Tensor along = (inward * unit).mean(-1, /*keepdim=*/true);
      result[0] = inward.sub_(unit * along).mul_(inverse).to(x.scalar_type());
    }
    return result;
  }
};

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    ctx->save_for_backward({gate, up});
    return at::silu(gate).mul_(up);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1], &gradient = gradients[0];
    return {at::silu_backward(gradient * up, gate), at::silu(gate).mul_(gradient)};
  }
};

}  // namespace

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  return RmsNorm::apply(x, scale, epsilon);
}

at::Tensor swiGlu(const at::Tensor& gate, const at::Tensor& up) { return SwiGlu::apply(gate, up); }

}  // namespace expc::llama
