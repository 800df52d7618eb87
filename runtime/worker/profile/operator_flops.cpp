#include "runtime/worker/profile/operator_flops.h"

#include <ATen/Context.h>
#include <c10/core/ScalarType.h>

#include <algorithm>

#include "runtime/worker/profile/attention_pairs.h"

namespace expc::profile {
namespace {

struct Named {
  std::string_view name;
  std::string_view factor;  // whose last dimension is summed over
};
constexpr Named kProducts[] = {
    {"aten::mm", "self"},
    {"aten::addmm", "mat1"},
    {"aten::addmm_", "mat1"},
    {"aten::bmm", "self"},
    {"aten::baddbmm", "batch1"},
    {"aten::baddbmm_", "batch1"},
    {"aten::mv", "self"},
    {"aten::addmv", "mat"},
    {"aten::addmv_", "mat"},
    {"aten::dot", "self"},
    {"aten::_int_mm", "self"},
    {"aten::_scaled_mm", "self"},
    {"aten::_addmm_activation", "mat1"},
    {"mkldnn::_linear_pointwise", "X"},
};
constexpr std::string_view kConvolutions[] = {"aten::convolution", "aten::_convolution", "aten::convolution_backward"};

std::string typeOf(const at::Tensor& factor, bool tf32) {
  switch (factor.scalar_type()) {
    case at::kDouble:
      return "fp64";
    case at::kFloat:
      return tf32 && factor.is_cuda() ? "tf32" : "fp32";
    case at::kBFloat16:
      return "bf16";
    case at::kHalf:
      return "fp16";
    case at::kChar:
      return "int8";
    default:
      return c10::isFloat8Type(factor.scalar_type()) ? "fp8" : "";
  }
}

double elements(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }

OperatorFlops product(const at::Tensor& factor) {
  const double summed = factor.dim() > 0 ? static_cast<double>(factor.size(-1)) : 1;
  return {typeOf(factor, at::globalContext().allowTF32CuBLAS()), 0, 2 * summed};
}

/// Each element of what the kernel slides to takes all its taps of one channel: weight [out, in / groups, taps...], or
/// [in, out / groups, taps...] where it is transposed.
double ofTaps(const at::Tensor& weight) { return 2 * elements(weight) / static_cast<double>(weight.size(0)); }

std::optional<OperatorFlops> convolution(const OperatorCall& call, bool backward) {
  const at::Tensor input = call.tensor("input"), weight = call.tensor("weight");
  if (!input.defined() || !weight.defined() || weight.numel() == 0) return std::nullopt;
  OperatorFlops flops{typeOf(input, at::globalContext().allowTF32CuDNN())};
  const bool transposed = call.flag("transposed");
  if (!backward) {
    (transposed ? flops.fixed : flops.per_output) = ofTaps(weight) * (transposed ? elements(input) : 1);
    return flops;
  }
  const at::Tensor result = call.tensor("grad_output");
  const auto mask = call.get("output_mask").toBoolList();  // input, weight, bias
  flops.fixed = ofTaps(weight) * elements(transposed ? input : result) * (int{mask.get(0)} + int{mask.get(1)});
  return flops;
}

std::optional<OperatorFlops> attention(const OperatorCall& call) {
  const std::optional<AttentionPairs> of = attentionPairs(call);
  if (!of) return std::nullopt;
  const at::Tensor query = call.tensor("query");
  const auto width = static_cast<double>(query.size(-1)),
             value_width = static_cast<double>(call.tensor("value").size(-1));
  // Forward: scores, and weights with values. Backward: the scores again, what the weights lose, and a gradient for
  // each of queries, keys and values.
  const double per_pair = of->backward ? 2 * (3 * width + 2 * value_width) : 2 * (width + value_width);
  // In fp32 these kernels multiply on tensor cores, each product as some in tf32.
  return OperatorFlops{typeOf(query, /*tf32=*/true), per_pair * of->pairs, 0};
}

}  // namespace

std::optional<OperatorFlops> flopsOf(const OperatorCall& call) {
  const std::string_view name = call.name();
  std::optional<OperatorFlops> flops;
  if (const auto* found = std::ranges::find(kProducts, name, &Named::name); found != std::end(kProducts)) {
    if (const at::Tensor factor = call.tensor(found->factor); factor.defined()) flops = product(factor);
  } else if (const auto* of = std::ranges::find(kConvolutions, name); of != std::end(kConvolutions)) {
    flops = convolution(call, /*backward=*/of == std::end(kConvolutions) - 1);
  } else {
    flops = attention(call);
  }
  if (flops && flops->type.empty()) return std::nullopt;
  return flops;
}

bool multiplies(std::string_view name) {
  return std::ranges::find(kProducts, name, &Named::name) != std::end(kProducts) ||
         std::ranges::find(kConvolutions, name) != std::end(kConvolutions) || isAttention(name);
}

}  // namespace expc::profile
