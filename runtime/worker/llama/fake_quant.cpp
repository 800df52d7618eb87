#include "runtime/worker/llama/fake_quant.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cassert>
#include <limits>
#include <utility>

#include "runtime/worker/llama/loops.h"
#include "runtime/worker/llama/products.h"

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

double machineEpsilon(at::ScalarType type) {
  return AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, type, "fake quantisation",
                                         [&] { return static_cast<double>(std::numeric_limits<scalar_t>::epsilon()); });
}

/// A tensor after rounding, where it was not cut off (if that is asked for), and the fp32 scale of each part
/// (broadcast).
struct Rounded {
  at::Tensor values, inside, scale;
};

/// By rows of `width` values, with a scale of its own shape for each. `x` as loopsServe has it.
template <typename Pick>
Rounded roundedByLoops(const at::Tensor& x, int64_t width, at::IntArrayRef scales, bool learning, Pick pick) {
  Rounded result;
  result.values = at::empty_like(x);
  if (learning) result.inside = at::empty(x.sizes(), x.options().dtype(at::kBool));
  result.scale = at::empty(scales, x.options().dtype(at::kFloat));
  withLoops(x, [&](const auto& loops, auto stored) {
    using S = decltype(stored);
    const auto round = pick(loops);
    overRows(x, x.numel() / width, width, [&](int64_t first, int64_t count) {
      const int64_t at = first * width;
      bool* inside = learning ? out<bool>(result.inside) + at : nullptr;
      round(in<S>(x) + at, count, width, out<S>(result.values) + at, inside, out<float>(result.scale) + first);
    });
  });
  return result;
}

/// Scales are computed in the type of x, step by step, and only then widened: so the original's bits come out.
/// `learning`: what was cut off will be asked for.
Rounded roundedActivation(const at::Tensor& x, bool learning = true) {
  auto scales = x.sizes().vec();
  scales.back() = 1;
  if (loopsServe(x))
    return roundedByLoops(x, x.size(-1), scales, learning, [](const auto& loops) { return loops.round_to_int8; });
  const at::Tensor low = x.amin(-1, /*keepdim=*/true).clamp_max_(0), high = x.amax(-1, true).clamp_min_(0);
  Rounded result;
  const at::Tensor scale = (high - low).div_(255.0).clamp_min_(kernels::kLeastInt8Scale);
  const at::Tensor zero = (-128 - (low / scale).round_()).clamp_(-128, 127).to(at::kFloat);
  result.scale = scale.to(at::kFloat);
  at::Tensor steps = (x * result.scale.reciprocal()).round_().add_(zero);
  if (learning) result.inside = (steps >= -128).logical_and_(steps <= 127);
  result.values = steps.clamp_(-128, 127).sub_(zero).mul_(result.scale).to(x.scalar_type());
  return result;
}

at::Tensor grouped(const at::Tensor& w, int64_t group) { return w.reshape({w.size(0), w.size(1) / group, group}); }

at::Tensor int4Scale(const at::Tensor& groups) {
  return at::maximum(groups.amin(-1, /*keepdim=*/true).neg(), groups.amax(-1, true))
      .div_(kernels::kInt4Steps)
      .clamp_min_(machineEpsilon(groups.scalar_type()))
      .to(at::kFloat);
}

Rounded roundedWeight(const at::Tensor& w, int64_t group, bool learning = true) {
  if (loopsServe(w))
    return roundedByLoops(w, group, {w.size(0), w.size(1) / group, 1}, learning,
                          [](const auto& loops) { return loops.round_to_int4; });
  const at::Tensor groups = grouped(w, group);
  Rounded result;
  result.scale = int4Scale(groups);
  // By the rounded reciprocal: a division gives other bits.
  at::Tensor steps = (groups * result.scale.reciprocal()).round_();
  if (learning) result.inside = (steps >= -8).logical_and_(steps <= 7).view(w.sizes());
  result.values = steps.clamp_(-8, 7).mul_(result.scale).to(w.scalar_type()).view(w.sizes());
  return result;
}

at::Tensor throughByLoops(const at::Tensor& gradient, const at::Tensor& inside, const at::Tensor& scale,
                          const at::Tensor& result) {
  const int64_t width = gradient.numel() / std::max<int64_t>(1, scale.numel());
  withLoops(gradient, [&](const auto& loops, auto stored) {
    using S = decltype(stored);
    overRows(gradient, scale.numel(), width, [&](int64_t first, int64_t count) {
      const int64_t at = first * width;
      loops.round_grad(in<S>(gradient) + at, in<bool>(inside) + at, in<float>(scale) + first, count, width,
                       out<S>(result) + at);
    });
  });
  return result;
}

/// What comes back through the rounding: (g s) (1 / s) where the value was inside. `ours`: the gradient may be changed.
at::Tensor through(const at::Tensor& gradient, const at::Tensor& inside, const at::Tensor& scale, bool ours) {
  if (loopsServe(gradient) && inside.is_contiguous() && scale.is_contiguous())
    return throughByLoops(gradient, inside, scale, ours ? gradient : at::empty_like(gradient));
  const bool by_group = scale.dim() == 3;
  at::Tensor parts = by_group ? gradient.reshape({scale.size(0), scale.size(1), -1}) : gradient;
  // In 16 bits the product is rounded once, behind both factors.
  if (ours && parts.element_size() >= 4)
    parts.mul_(scale);
  else
    parts = parts * scale;
  // A product with `inside` would make it as wide as the gradient first.
  return parts.mul_(scale.reciprocal())
      .to(gradient.scalar_type())
      .view(gradient.sizes())
      .masked_fill_(inside.logical_not(), 0);
}

/// An activation where `group` is 0, else a weight.
struct RoundedNode : torch::autograd::Function<RoundedNode> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, int64_t group) {
    Rounded rounded = group == 0 ? roundedActivation(x) : roundedWeight(x, group);
    ctx->save_for_backward({rounded.inside, rounded.scale});
    return rounded.values;
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    return {through(gradients[0], saved[0], saved[1], /*ours=*/false), at::Tensor()};
  }
};

struct ProductsNode : torch::autograd::Function<ProductsNode> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList weights, int64_t group,
                               bool kept) {
    variable_list results, saved;
    const auto keep = [&](const at::Tensor& original, const Rounded& rounded) {
      if (kept)
        saved.insert(saved.end(), {rounded.values, rounded.inside, rounded.scale});
      else
        saved.push_back(original);
    };
    const Rounded input = roundedActivation(x, kept);
    keep(x, input);
    for (const at::Tensor& weight : weights) {
      const Rounded rounded = roundedWeight(weight, group, kept);
      keep(weight, rounded);
      results.push_back(timesTransposed(input.values, rounded.values));
    }
    ctx->save_for_backward(std::move(saved));
    ctx->saved_data["group"] = group;
    ctx->saved_data["kept"] = kept;
    return results;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const bool kept = ctx->saved_data["kept"].toBool();
    const int64_t group = ctx->saved_data["group"].toInt();
    const auto at = [&](size_t i) {
      if (kept) return Rounded{saved[3 * i], saved[3 * i + 1], saved[3 * i + 2]};
      return i == 0 ? roundedActivation(saved[0]) : roundedWeight(saved[i], group);
    };
    const Rounded input = at(0);
    variable_list result(3 + gradients.size());
    at::Tensor towards_x;
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Rounded weight = at(i + 1);
      if (ctx->needs_input_grad(0)) addTimes(towards_x, gradients[i], weight.values);
      if (ctx->needs_input_grad(1 + i))
        result[1 + i] = through(at::mm(gradients[i].t(), input.values), weight.inside, weight.scale, /*ours=*/true);
    }
    if (towards_x.defined()) result[0] = through(towards_x, input.inside, input.scale, /*ours=*/true);
    return result;
  }
};

}  // namespace

at::Tensor fakeQuantActivation(const at::Tensor& x) { return RoundedNode::apply(x, 0); }
at::Tensor fakeQuantWeight(const at::Tensor& w, int64_t group) { return RoundedNode::apply(w, group); }

std::vector<at::Tensor> fakeQuantProducts(const at::Tensor& x, const std::vector<at::Tensor>& weights, int64_t group,
                                          QuantCopies copies) {
  assert(x.dim() == 2 && x.size(1) % group == 0 && "whole groups");
  return ProductsNode::apply(x, at::TensorList(weights), group, copies == QuantCopies::Kept);
}

Int4Weight convertToInt4(const at::Tensor& w, int64_t group) {
  at::NoGradGuard no_grad;
  const at::Tensor groups = grouped(w.detach(), group), scale = int4Scale(groups);
  return {(groups * scale.reciprocal()).round_().clamp_(-8, 7).to(at::kChar).view(w.sizes()), scale.squeeze(-1)};
}

at::Tensor int4Product(const at::Tensor& x, const Int4Weight& weight) {
  at::NoGradGuard no_grad;
  const int64_t group = weight.values.size(1) / weight.scales.size(1);
  const at::Tensor dense = (grouped(weight.values, group).to(at::kFloat).mul_(weight.scales.unsqueeze(-1)))
                               .to(x.scalar_type())
                               .view(weight.values.sizes());
  return timesTransposed(roundedActivation(x, false).values, dense);
}

}  // namespace expc::llama
