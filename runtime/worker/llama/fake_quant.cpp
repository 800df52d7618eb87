// Fake quantisation as autograd functions. Our loops round in one pass over memory where they accept a tensor;
// torch's operators do the same, in the same order of roundings, for other types and in tests. A difference of one
// bit can move a value to the next step.

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

/// The distance from 1 to the next number of a type.
double machineEpsilon(at::ScalarType type) {
  return AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, type, "fake quantisation",
                                         [&] { return double(std::numeric_limits<scalar_t>::epsilon()); });
}

/// A rounded tensor, whether each value was inside the range (if a gradient will ask), and the fp32 scale of each
/// token or group in a shape that broadcasts.
struct Rounded {
  at::Tensor values, inside, scale;
};

/// Rounds rows of `width` values by our loops, picked by `pick` from the table. `scales` is the shape of the scales;
/// x must satisfy loopsServe.
template <typename Pick>
Rounded roundedByLoops(const at::Tensor& x, int64_t width, at::IntArrayRef scales, bool learning, Pick pick) {
  Rounded result;
  result.values = at::empty_like(x);
  if (learning) result.inside = at::empty(x.sizes(), x.options().dtype(at::kBool));
  result.scale = at::empty(scales, x.options().dtype(at::kFloat));
  overRows(x, x.numel() / width, width, [&]<typename S>(const Loops<S>& loops, int64_t first, int64_t count) {
    const int64_t at = first * width;
    pick(loops)(in<S>(x, at), count, width, out<S>(result.values, at), out<bool>(result.inside, at),
                out<float>(result.scale, first));
  });
  return result;
}

/// Rounds activations. Scales are computed in x's type, operator by operator, and only then widened, which gives
/// torchao's bits. `learning`: a gradient will ask for `inside`.
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

/// Symmetric scales of groups [.., group] in their type, then widened.
at::Tensor int4Scale(const at::Tensor& groups) {
  return at::maximum(groups.amin(-1, /*keepdim=*/true).neg(), groups.amax(-1, true))
      .div_(kernels::kInt4Steps)
      .clamp_min_(machineEpsilon(groups.scalar_type()))
      .to(at::kFloat);
}

/// Rounds weights by groups, as roundedActivation() does activations.
Rounded roundedWeight(const at::Tensor& w, int64_t group, bool learning = true) {
  if (loopsServe(w))
    return roundedByLoops(w, group, {w.size(0), w.size(1) / group, 1}, learning,
                          [](const auto& loops) { return loops.round_to_int4; });
  const at::Tensor groups = grouped(w, group);
  Rounded result;
  result.scale = int4Scale(groups);
  // Multiply by the rounded reciprocal, as torchao does: a division gives other bits.
  at::Tensor steps = (groups * result.scale.reciprocal()).round_();
  if (learning) result.inside = (steps >= -8).logical_and_(steps <= 7).view(w.sizes());
  result.values = steps.clamp_(-8, 7).mul_(result.scale).to(w.scalar_type()).view(w.sizes());
  return result;
}

/// The gradient by our loops, into `result`, which may be `gradient`.
at::Tensor throughByLoops(const at::Tensor& gradient, const at::Tensor& inside, const at::Tensor& scale,
                          const at::Tensor& result) {
  const int64_t width = gradient.numel() / std::max<int64_t>(1, scale.numel());
  overRows(gradient, scale.numel(), width, [&]<typename S>(const Loops<S>& loops, int64_t first, int64_t count) {
    const int64_t at = first * width;
    loops.round_grad(in<S>(gradient, at), in<bool>(inside, at), in<float>(scale, first), count, width,
                     out<S>(result, at));
  });
  return result;
}

/// The gradient through the rounding: (g s) (1 / s) where a value was inside, else 0. `ours`: the gradient's memory
/// may be overwritten.
at::Tensor through(const at::Tensor& gradient, const at::Tensor& inside, const at::Tensor& scale, bool ours) {
  if (loopsServe(gradient) && inside.is_contiguous() && scale.is_contiguous())
    return throughByLoops(gradient, inside, scale, ours ? gradient : at::empty_like(gradient));
  const bool by_group = scale.dim() == 3;
  at::Tensor parts = by_group ? gradient.reshape({scale.size(0), scale.size(1), -1}) : gradient;
  // In 16 bits an update in place would round after each factor. The product of all is to be rounded once.
  if (ours && parts.element_size() >= 4)
    parts.mul_(scale);
  else
    parts = parts * scale;
  // masked_fill instead of a product with `inside`, which would be widened to the gradient's type first.
  return parts.mul_(scale.reciprocal())
      .to(gradient.scalar_type())
      .view(gradient.sizes())
      .masked_fill_(inside.logical_not(), 0);
}

/// The rounding as a node of its own: of an activation if `group` is 0, else of a weight.
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

/// Products of rounded operands. With copies kept it saves values, inside and scale of each operand; else the
/// operands, which are rounded again on the way back to the same bits.
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
    // Only kept copies need to know what was clamped; recomputed ones find it again.
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
    // Operand i as forward saw it: 0 is x, the others are weights.
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
  // These are the values that fakeQuantWeight gives: whole steps times the scale, rounded to x's type.
  const at::Tensor dense = (grouped(weight.values, group).to(at::kFloat).mul_(weight.scales.unsqueeze(-1)))
                               .to(x.scalar_type())
                               .view(weight.values.sizes());
  return timesTransposed(roundedActivation(x, false).values, dense);
}

}  // namespace expc::llama
