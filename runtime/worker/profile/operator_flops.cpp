// Floating-point operations of single operator calls, from shapes. The tables name torch's
// operators; an operator that is missing counts as nothing, which keeps the sum a lower bound.
// Counts follow the mathematics of the operator and not an implementation (no Winograd, no padding
// to tiles), except where every kernel does the same extra work: attention's backward pass.

#include "runtime/worker/profile/operator_flops.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string>

namespace expc::profile {
namespace {

/// The layout of queries in memory.
// [batch, heads, tokens, width]; or [batch, tokens, heads, width], or packed.
enum class Axes { HeadsFirst, TokensFirst };

/// A kernel of fused attention, by its operator.
struct Kernel {
  std::string_view name;
  Axes axes;
};
constexpr Kernel kKernels[] = {
    {"aten::_scaled_dot_product_flash_attention", Axes::HeadsFirst},
    {"aten::_scaled_dot_product_efficient_attention", Axes::HeadsFirst},
    {"aten::_scaled_dot_product_cudnn_attention", Axes::HeadsFirst},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", Axes::HeadsFirst},
    {"aten::_flash_attention", Axes::TokensFirst},
    {"aten::_efficient_attention", Axes::TokensFirst},
};
constexpr std::string_view kForward = "_forward", kBackward = "_backward";

/// The kernel of an operator, null if it is none, and whether the operator is the backward pass.
/// Some operators have "_forward" in their names, others have no suffix.
const Kernel* kernelOf(std::string_view name, bool& backward) {
  backward = name.ends_with(kBackward);
  const std::string_view base = backward ? name.substr(0, name.size() - kBackward.size()) : name;
  for (const Kernel& kernel : kKernels) {
    const bool has_forward = kernel.axes == Axes::TokensFirst && !backward;
    if (has_forward ? base == std::string(kernel.name) + std::string(kForward) : base == kernel.name) return &kernel;
  }
  return nullptr;
}

/// The number of pairs of a query and a key that it sees. With sides of unequal length it matters
/// where a causal mask begins, which kernels define differently; this is the least that any mask
/// leaves.
double seen(double queries, double keys, bool causal) {
  const double least = std::min(queries, keys);
  return causal ? least * (least + 1) / 2 : queries * keys;
}

/// The lengths of packed samples, from the positions at which they begin: [0, 3, 7] means 3 and 4.
/// If the device's values are not such positions (a null GPU computes nothing), all samples are
/// taken as equally long, which is the least work for their number.
std::vector<double> lengthsOf(const at::Tensor& bounds, int64_t total) {
  const int64_t samples = bounds.numel() - 1;
  if (samples < 1) return {};
  const at::Tensor host = bounds.to(at::kCPU, at::kLong).contiguous();
  const int64_t* at = host.const_data_ptr<int64_t>();
  std::vector<double> lengths;
  for (int64_t i = 0; i < samples; ++i) lengths.push_back(double(at[i + 1] - at[i]));
  const bool sound =
      at[0] == 0 && at[samples] == total && std::ranges::all_of(lengths, [](double n) { return n >= 0; });
  if (!sound) std::ranges::fill(lengths, double(total) / double(samples));
  return lengths;
}

/// The first of two arguments that the call has: torch's operators name it differently.
at::Tensor firstOf(const OperatorCall& call, std::string_view one, std::string_view other) {
  const at::Tensor found = call.tensor(one);
  return found.defined() ? found : call.tensor(other);
}

/// Whether the call may leave out keys in ways that shapes do not show, such as a window. Then
/// nothing is known.
bool isWindowed(const OperatorCall& call) {
  for (const std::string_view name :
       {"window_size_left", "window_size_right", "window_size", "seqused_k", "seqlen_k", "alibi_slopes"})
    if (!call.get(name).isNone()) return true;
  return false;
}

/// The pairs of packed samples. Query and key are [tokens, heads, width], or a batch of one of
/// these.
double ofPacked(const at::Tensor& query, const at::Tensor& key, const at::Tensor& of_queries, const at::Tensor& of_keys,
                bool causal) {
  const std::vector<double> queries = lengthsOf(of_queries, query.size(-3)), keys = lengthsOf(of_keys, key.size(-3));
  double pairs = 0;
  for (size_t i = 0; i < std::min(queries.size(), keys.size()); ++i) pairs += seen(queries[i], keys[i], causal);
  return pairs * double(query.size(-2));
}

/// A matrix product, and the argument whose last dimension is summed over.
struct Named {
  std::string_view name;
  std::string_view factor;  // the argument whose last dimension is summed over
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

/// The type of a product, by the type of its factor; "" for types that are not counted. @param tf32
/// whether fp32 may use tensor cores
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

double elements(const at::Tensor& tensor) { return double(tensor.numel()); }

/// Operations per element of the result: a product and a sum for each element of the summed
/// dimension.
OperatorFlops product(const at::Tensor& factor) {
  const double summed = factor.dim() > 0 ? double(factor.size(-1)) : 1;
  return {typeOf(factor, at::globalContext().allowTF32CuBLAS()), 0, 2 * summed};
}

/// Operations per element that the kernel is applied to: all its taps of one channel. The weight is
/// [out, in / groups, taps...], or [in, out / groups, taps...] if the convolution is transposed.
double ofTaps(const at::Tensor& weight) { return 2 * elements(weight) / double(weight.size(0)); }

/// A forward convolution costs per element of its output, a transposed one per element of its
/// input. The backward pass does as much for the gradient of the input and again for that of the
/// weight, if they are wanted.
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
  const auto mask = call.get("output_mask").toBoolList();  // for input, weight and bias
  flops.fixed = ofTaps(weight) * elements(transposed ? input : result) * (int{mask.get(0)} + int{mask.get(1)});
  return flops;
}

std::optional<OperatorFlops> attention(const OperatorCall& call) {
  const std::optional<AttentionPairs> of = attentionPairs(call);
  if (!of) return std::nullopt;
  const at::Tensor query = call.tensor("query");
  const auto width = double(query.size(-1)), value_width = double(call.tensor("value").size(-1));
  // Forward: scores, and weighted values. Backward: the scores again, the gradient of the weights,
  // and the gradients of queries, keys and values.
  const double per_pair = of->backward ? 2 * (3 * width + 2 * value_width) : 2 * (width + value_width);
  // In fp32 these kernels use tensor cores, splitting each product into several in tf32.
  return OperatorFlops{typeOf(query, /*tf32=*/true), per_pair * of->pairs, 0};
}

}  // namespace

std::vector<at::Tensor> tensorsIn(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.defined()) tensors.push_back(tensor);
  };
  if (value.isTensor()) add(value.toTensor());
  if (value.isList())
    for (const c10::IValue& item : value.toListRef())
      if (item.isTensor()) add(item.toTensor());
  return tensors;
}

c10::IValue OperatorCall::get(std::string_view argument) const {
  for (size_t i = 0; i < count(); ++i)
    if (arguments()[i].name() == argument) return values_[i];
  return {};
}

at::Tensor OperatorCall::tensor(std::string_view argument) const {
  const c10::IValue value = get(argument);
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

bool OperatorCall::flag(std::string_view argument) const {
  const c10::IValue value = get(argument);
  return value.isBool() && value.toBool();
}

std::optional<int64_t> OperatorCall::whole(std::string_view argument) const {
  const c10::IValue value = get(argument);
  if (!value.isInt()) return std::nullopt;
  return value.toInt();
}

std::optional<AttentionPairs> attentionPairs(const OperatorCall& call) {
  AttentionPairs result;
  const Kernel* kernel = kernelOf(call.name(), result.backward);
  const at::Tensor query = call.tensor("query"), key = call.tensor("key");
  if (!kernel || !query.defined() || !key.defined() || query.dim() < 3 || isWindowed(call)) return std::nullopt;
  const bool causal = call.flag("is_causal") || call.whole("custom_mask_type").value_or(0) != 0;
  if (kernel->axes == Axes::TokensFirst) {
    const at::Tensor queries = firstOf(call, "cum_seq_q", "cu_seqlens_q"),
                     keys = firstOf(call, "cum_seq_k", "cu_seqlens_k");
    if (queries.defined() && keys.defined()) {
      result.pairs = ofPacked(query, key, queries, keys, causal);
      return result;
    }
  }
  if (query.dim() != 4) return std::nullopt;
  const int64_t tokens = kernel->axes == Axes::HeadsFirst ? 2 : 1, heads = 3 - tokens;
  result.pairs =
      double(query.size(0) * query.size(heads)) * seen(double(query.size(tokens)), double(key.size(tokens)), causal);
  return result;
}

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
  bool backward = false;
  return std::ranges::find(kProducts, name, &Named::name) != std::end(kProducts) ||
         std::ranges::find(kConvolutions, name) != std::end(kConvolutions) || kernelOf(name, backward);
}

}  // namespace expc::profile
