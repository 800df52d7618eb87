#include "runtime/worker/llama/layers.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "runtime/worker/llama/loops.h"

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double epsilon) {
    if (x.is_cuda()) return byTorch(ctx, x, scale, epsilon);
    if (loopsServe(x) && loopsServe(scale)) return byLoops(ctx, x, scale, epsilon);
    const at::ScalarType inner = accumulateType(x.scalar_type());
    const at::Tensor wide = x.to(inner);
    const at::Tensor inverse = wide.square().mean(-1, /*keepdim=*/true).add_(epsilon).rsqrt_();
    ctx->save_for_backward({x, scale, inverse});
    return (wide * inverse).mul_(scale.to(inner)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &inverse = saved[2];
    if (x.is_cuda()) return backwardByTorch(ctx, gradients[0]);
    if (loopsServe(x) && loopsServe(scale) && loopsServe(gradients[0])) return backwardByLoops(ctx, gradients[0]);
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

 private:
  static constexpr int64_t kPieces = 16;  // of the sum over rows; fixed, so that threads change no bit

  static at::Tensor byTorch(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double epsilon) {
    auto [y, inverse] = at::_fused_rms_norm(x, scale.sizes(), scale, epsilon);
    ctx->save_for_backward({x, scale, inverse});
    return y;
  }

  static variable_list backwardByTorch(AutogradContext* ctx, const at::Tensor& gradient) {
    const auto saved = ctx->get_saved_variables();
    auto [towards_x, towards_scale] = at::_fused_rms_norm_backward(
        gradient, saved[0], saved[1].sizes(), saved[2], saved[1], {ctx->needs_input_grad(0), ctx->needs_input_grad(1)});
    return {towards_x, towards_scale, at::Tensor()};
  }

  static at::Tensor byLoops(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double epsilon) {
    const int64_t width = scale.size(0), rows = x.numel() / width;
    const at::Tensor y = at::empty_like(x), inverse = at::empty({rows}, x.options().dtype(at::kFloat));
    withLoops(x, [&](const auto& loops, auto stored) {
      using S = decltype(stored);
      overRows(x, rows, width, [&](int64_t first, int64_t count) {
        loops.norm(in<S>(x) + first * width, in<S>(scale), count, width, static_cast<float>(epsilon),
                   out<float>(inverse) + first, out<S>(y) + first * width);
      });
    });
    ctx->save_for_backward({x, scale, inverse});
    return y;
  }

  static variable_list backwardByLoops(AutogradContext* ctx, const at::Tensor& gradient) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &inverse = saved[2];
    const int64_t width = scale.size(0), rows = x.numel() / width, piece = (rows + kPieces - 1) / kPieces;
    const at::Tensor towards_x = ctx->needs_input_grad(0) ? at::empty_like(x) : at::Tensor(),
                     sums = ctx->needs_input_grad(1) ? at::zeros({kPieces, width}, x.options().dtype(at::kFloat))
                                                     : at::Tensor();
    withLoops(x, [&](const auto& loops, auto stored) {
      using S = decltype(stored);
      overRows(x, kPieces, piece * width, [&](int64_t begin, int64_t pieces) {
        for (int64_t i = begin; i < begin + pieces; ++i) {
          const int64_t first = std::min(rows, i * piece), count = std::min(rows - first, piece), at = first * width;
          loops.norm_grad(in<S>(x) + at, in<S>(scale), in<float>(inverse) + first, in<S>(gradient) + at, count, width,
                          towards_x.defined() ? out<S>(towards_x) + at : nullptr,
                          sums.defined() ? out<float>(sums) + i * width : nullptr);
        }
      });
    });
    return {towards_x, sums.defined() ? sums.sum(0).to(scale.scalar_type()) : at::Tensor(), at::Tensor()};
  }
};

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    ctx->save_for_backward({gate, up});
    if (!loopsServe(gate) || !loopsServe(up)) return at::silu(gate).mul_(up);
    const at::Tensor y = at::empty_like(gate);
    withLoops(gate, [&](const auto& loops, auto stored) {
      using S = decltype(stored);
      overRows(gate, gate.numel(), 1, [&](int64_t first, int64_t count) {
        loops.swiglu(in<S>(gate) + first, in<S>(up) + first, count, out<S>(y) + first);
      });
    });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1], &gradient = gradients[0];
    if (!loopsServe(gate) || !loopsServe(up) || !loopsServe(gradient))
      return {at::silu_backward(gradient * up, gate), at::silu(gate).mul_(gradient)};
    variable_list result = {at::empty_like(gate), at::empty_like(up)};
    withLoops(gate, [&](const auto& loops, auto stored) {
      using S = decltype(stored);
      overRows(gate, gate.numel(), 1, [&](int64_t first, int64_t count) {
        loops.swiglu_grad(in<S>(gate) + first, in<S>(up) + first, in<S>(gradient) + first, count,
                          out<S>(result[0]) + first, out<S>(result[1]) + first);
      });
    });
    return result;
  }
};

}  // namespace

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  return RmsNorm::apply(x, scale, epsilon);
}

at::Tensor swiGlu(const at::Tensor& gate, const at::Tensor& up) { return SwiGlu::apply(gate, up); }

}  // namespace expc::llama
