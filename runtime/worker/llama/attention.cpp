// Chooses and calls torch's attention kernels. Where torch's public operator would hold a matrix of scores (packed
// samples) or round in between (16 bits on the CPU), the kernels below it are called directly, with autograd
// functions around them.

#include "runtime/worker/llama/attention.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool isNarrow(at::ScalarType type) { return type == at::kBFloat16 || type == at::kHalf; }

/// Causal attention in fp32 between tensors that are kept in 16 bits. Widened copies live only during a pass.
struct Widened : torch::autograd::Function<Widened> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value) {
    const auto [wide, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
        query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat), /*dropout_p=*/0.0, /*is_causal=*/true);
    // The narrow tensors are kept, not their wide copies; `sums` (log-sum-exp of each row) lets backward do without
    // scores.
    const at::Tensor result = wide.to(query.scalar_type());
    ctx->save_for_backward({query, key, value, result, sums});
    return result;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto wide = [](const at::Tensor& x) { return x.to(at::kFloat); };
    const auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        wide(gradients[0]), wide(saved[0]), wide(saved[1]), wide(saved[2]), wide(saved[3]), saved[4],
        /*dropout_p=*/0.0, /*is_causal=*/true);
    const at::ScalarType type = saved[0].scalar_type();
    return {query.to(type), key.to(type), value.to(type)};
  }
};

/// One sample of [tokens, heads, width] as [1, heads, length, width], in the type of the arithmetic.
at::Tensor partOf(const at::Tensor& x, int64_t first, int64_t count) {
  return x.narrow(0, first, count)
      .transpose(0, 1)
      .unsqueeze(0)
      .to(isNarrow(x.scalar_type()) ? at::kFloat : x.scalar_type());
}

/// The way back: copies a sample's result into its place in [tokens, heads, width], rounding it.
void setPart(const at::Tensor& x, int64_t first, const at::Tensor& part) {
  x.narrow(0, first, part.size(2)).copy_(part.squeeze(0).transpose(0, 1));
}

/// Attention of packed samples on the CPU, one after the other: a short sample does not pay for a long neighbour, and
/// there is no mask of length x length. [tokens, heads, width].
struct OneByOne : torch::autograd::Function<OneByOne> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const std::vector<int64_t>& lengths) {
    const at::Tensor result = at::empty_like(query);
    variable_list saved = {query, key, value, result};
    int64_t first = 0;
    for (const int64_t count : lengths) {
      const auto [part, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
          partOf(query, first, count), partOf(key, first, count), partOf(value, first, count), /*dropout_p=*/0.0,
          /*is_causal=*/true);
      setPart(result, first, part);
      saved.push_back(sums);
      first += count;
    }
    ctx->save_for_backward(std::move(saved));
    ctx->saved_data["lengths"] = lengths;
    return result;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const std::vector<int64_t> lengths = ctx->saved_data["lengths"].toIntVector();
    variable_list result(4);
    for (size_t i = 0; i < 3; ++i) result[i] = at::empty_like(saved[i]);
    int64_t first = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const auto part = [&](const at::Tensor& x) { return partOf(x, first, lengths[i]); };
      const auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          part(gradients[0]), part(saved[0]), part(saved[1]), part(saved[2]), part(saved[3]), saved[4 + i],
          /*dropout_p=*/0.0, /*is_causal=*/true);
      setPart(result[0], first, query);
      setPart(result[1], first, key);
      setPart(result[2], first, value);
      first += lengths[i];
    }
    return result;
  }
};

/// The kernel that torch would choose in training for such heads. Asked with a small tensor: the choice depends on
/// types and widths, not on the length.
AttentionKernel chosen(const at::TensorOptions& options, int64_t heads, int64_t kv_heads, int64_t width) {
  constexpr int64_t kSomeTokens = 16;
  const at::AutoGradMode as_in_training(true);
  const auto of = [&](int64_t count) {
    return at::empty({1, kSomeTokens, count, width}, options).transpose(1, 2).requires_grad_(true);
  };
  const at::Tensor key = of(kv_heads);
  // The question that torch's own scaled_dot_product_attention asks.
  const int64_t choice = at::_fused_sdp_choice(of(heads), key, key, std::nullopt, /*dropout_p=*/0.0, /*is_causal=*/true,
                                               std::nullopt, /*enable_gqa=*/kv_heads != heads);
  // Torch has more backends than these; all others count as plain, which is always right though slow.
  return choice >= 1 && choice <= 3 ? static_cast<AttentionKernel>(choice) : AttentionKernel::Plain;
}

}  // namespace

at::Tensor Documents::boundsOf(const std::vector<int64_t>& lengths) {
  at::Tensor bounds = at::empty({std::ssize(lengths) + 1}, at::TensorOptions(at::kInt));
  auto* at = bounds.mutable_data_ptr<int32_t>();
  *at = 0;
  // Cumulative lengths, the form that kernels for packed rows take.
  for (const int64_t length : lengths) {
    at[1] = at[0] + int32_t(length);
    ++at;
  }
  return bounds;
}

Attention::Attention(at::Device device, at::ScalarType type, int64_t heads, int64_t kv_heads, int64_t head_width)
    : shared_(heads / kv_heads) {
  // On the CPU there is one kernel to choose, and 16 bits are widened in ofRows() and ofDocuments().
  if (device.is_cpu()) return;
  const auto options = at::TensorOptions(type).device(device);
  kernel_ = chosen(options, heads, kv_heads, head_width);
  grouped_ = shared_ > 1 && kernel_ != AttentionKernel::Plain;
  // If no kernel takes grouped heads, torch silently falls back to plain operators: ask again with repeated ones.
  if (shared_ > 1 && !grouped_) kernel_ = chosen(options, heads, heads, head_width);
  // bf16 below compute capability 8 has no kernel, but fp32 has one that holds no scores.
  if (kernel_ == AttentionKernel::Plain && isNarrow(type) &&
      chosen(options.dtype(at::kFloat), heads, heads, head_width) == AttentionKernel::Efficient) {
    kernel_ = AttentionKernel::Efficient;
    widened_ = true;
  }
}

const char* Attention::name() const {
  constexpr const char* kNames[] = {"plain operators", "flash attention", "memory-efficient attention",
                                    "cuDNN; flash attention for packed rows", "flash attention on the CPU"};
  return widened_ ? "memory-efficient attention in fp32" : kNames[size_t(kernel_)];
}

/// Keys or values [..., kv_heads, width] with heads repeated, unless the kernel takes them grouped.
at::Tensor Attention::repeated(const at::Tensor& heads) const {
  if (shared_ == 1 || grouped_) return heads;
  auto shape = heads.sizes().vec();
  shape.insert(shape.end() - 1, shared_);
  return heads.unsqueeze(-2).expand(shape).flatten(-3, -2);
}

at::Tensor Attention::ofRows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) const {
  if (widened_ && isNarrow(query.scalar_type()))
    return ofRows(query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat)).to(query.scalar_type());
  const at::Tensor q = query.transpose(1, 2);
  const auto others = [&](const at::Tensor& x) {
    const at::Tensor heads = x.transpose(1, 2);
    if (shared_ == 1 || grouped_) return heads;
    // Repeat each head for its group of queries (repeat-interleave): query head i reads head i / shared.
    return heads.unsqueeze(2).expand({-1, -1, shared_, -1, -1}).flatten(1, 2);
  };
  if (kernel_ == AttentionKernel::Host && isNarrow(query.scalar_type()) && query.numel() > 0)
    return Widened::apply(q, others(key), others(value)).transpose(1, 2);
  return at::scaled_dot_product_attention(q, others(key), others(value), std::nullopt, /*dropout_p=*/0.0,
                                          /*is_causal=*/true, std::nullopt, grouped_)
      .transpose(1, 2);
}

at::Tensor Attention::ofDocuments(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                  const Documents& documents) const {
  if (widened_ && isNarrow(query.scalar_type()))
    return ofDocuments(query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat), documents)
        .to(query.scalar_type());
  constexpr int64_t kFlashWidths = 8;  // the kernel takes multiples of this, and the call below does not pad
  if (kernel_ == AttentionKernel::Host)
    return OneByOne::apply(query, repeated(key), repeated(value), documents.lengths);
  const int64_t longest = *std::ranges::max_element(documents.lengths);
  // Where torch chose cuDNN for rows, packed samples go to flash attention.
  const bool sixteen_bits = kernel_ == AttentionKernel::Flash || kernel_ == AttentionKernel::CuDnn;
  if (sixteen_bits && query.size(2) % kFlashWidths == 0)
    return std::get<0>(at::_flash_attention_forward(query, repeated(key), repeated(value), documents.bounds,
                                                    documents.bounds, longest, longest, /*dropout_p=*/0.0,
                                                    /*is_causal=*/true, /*return_debug_mask=*/false));
  if (kernel_ == AttentionKernel::Efficient) {
    constexpr int64_t kCausal = 1;  // from the top left of each sample
    return std::get<0>(at::_efficient_attention_forward(query.unsqueeze(0), repeated(key).unsqueeze(0),
                                                        repeated(value).unsqueeze(0), std::nullopt, documents.bounds,
                                                        documents.bounds, longest, longest, /*dropout_p=*/0.0, kCausal,
                                                        /*compute_log_sumexp=*/true))
        .squeeze(0);
  }
  // No kernel for packed samples: each one by itself as a row of its own.
  std::vector<at::Tensor> parts;
  int64_t first = 0;
  for (const int64_t count : documents.lengths) {
    const auto part = [&](const at::Tensor& x) { return x.narrow(0, first, count).unsqueeze(0); };
    parts.push_back(ofRows(part(query), part(key), part(value)).squeeze(0));
    first += count;
  }
  return at::cat(parts);
}

}  // namespace expc::llama
