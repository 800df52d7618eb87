#include "runtime/worker/llama/attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Causal, computed in fp32 from what is kept in 16 bits.
struct Widened : torch::autograd::Function<Widened> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value) {
    const auto [wide, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
        query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat), /*dropout_p=*/0.0, /*is_causal=*/true);
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

}  // namespace

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& mask,
                     bool grouped) {
  const bool narrow = query.scalar_type() == at::kBFloat16 || query.scalar_type() == at::kHalf;
  if (query.is_cpu() && narrow && !mask.defined() && query.numel() > 0) return Widened::apply(query, key, value);
  const auto seen = mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt;
  return at::scaled_dot_product_attention(query, key, value, seen, /*dropout_p=*/0.0, /*is_causal=*/!seen, std::nullopt,
                                          grouped);
}

}  // namespace expc::llama
