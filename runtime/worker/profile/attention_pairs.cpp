#include "runtime/worker/profile/attention_pairs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>

namespace expc::profile {
namespace {

/// How queries lie in memory.
enum class Axes { HeadsFirst, TokensFirst };  // [batch, heads, tokens, width]; [batch, tokens, heads, width] or packed

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

/// The kernel of an operator, and whether it is its backward pass.
const Kernel* kernelOf(std::string_view name, bool& backward) {
  backward = name.ends_with(kBackward);
  const std::string_view base = backward ? name.substr(0, name.size() - kBackward.size()) : name;
  for (const Kernel& kernel : kKernels) {
    const bool has_forward = kernel.axes == Axes::TokensFirst && !backward;
    if (has_forward ? base == std::string(kernel.name) + std::string(kForward) : base == kernel.name) return &kernel;
  }
  return nullptr;
}

/// Where a causal mask begins matters only for sides of unequal length: then this is the least that it leaves.
double seen(double queries, double keys, bool causal) {
  const double least = std::min(queries, keys);
  return causal ? least * (least + 1) / 2 : queries * keys;
}

/// Lengths from where samples begin, [0, 3, 7], the last being the end. All alike where the device does not hold bounds
/// of `total` tokens: for so many samples nothing is less work.
std::vector<double> lengthsOf(const at::Tensor& bounds, int64_t total) {
  const int64_t samples = bounds.numel() - 1;
  if (samples < 1) return {};
  const at::Tensor host = bounds.to(at::kCPU, at::kLong).contiguous();
  const int64_t* at = host.const_data_ptr<int64_t>();
  std::vector<double> lengths;
  for (int64_t i = 0; i < samples; ++i) lengths.push_back(static_cast<double>(at[i + 1] - at[i]));
  const bool sound =
      at[0] == 0 && at[samples] == total && std::ranges::all_of(lengths, [](double n) { return n >= 0; });
  if (!sound) std::ranges::fill(lengths, static_cast<double>(total) / static_cast<double>(samples));
  return lengths;
}

at::Tensor firstOf(const OperatorCall& call, std::string_view one, std::string_view other) {
  const at::Tensor found = call.tensor(one);
  return found.defined() ? found : call.tensor(other);
}

/// None of what leaves keys out in ways that no shape tells.
bool isWindowed(const OperatorCall& call) {
  for (const std::string_view name :
       {"window_size_left", "window_size_right", "window_size", "seqused_k", "seqlen_k", "alibi_slopes"})
    if (!call.get(name).isNone()) return true;
  return false;
}

double ofPacked(const at::Tensor& query, const at::Tensor& key, const at::Tensor& of_queries, const at::Tensor& of_keys,
                bool causal) {
  // [tokens, heads, width], or a batch of one of these.
  const std::vector<double> queries = lengthsOf(of_queries, query.size(-3)), keys = lengthsOf(of_keys, key.size(-3));
  double pairs = 0;
  for (size_t i = 0; i < std::min(queries.size(), keys.size()); ++i) pairs += seen(queries[i], keys[i], causal);
  return pairs * static_cast<double>(query.size(-2));
}

}  // namespace

bool isAttention(std::string_view name) {
  bool backward = false;
  return kernelOf(name, backward) != nullptr;
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
  result.pairs = static_cast<double>(query.size(0) * query.size(heads)) *
                 seen(static_cast<double>(query.size(tokens)), static_cast<double>(key.size(tokens)), causal);
  return result;
}

}  // namespace expc::profile
