#include "runtime/worker/llama/names.h"

#include <llvm/ADT/StringExtras.h>

#include <cassert>

namespace expc::llama {
namespace {

struct Pair {
  llvm::StringLiteral torchtune, hugging_face;
};
constexpr Pair kWhole[] = {
    {"tok_embeddings", "model.embed_tokens"}, {"norm.scale", "model.norm.weight"}, {"output", "lm_head"}};
constexpr Pair kInLayer[] = {{"attn.q_proj", "self_attn.q_proj"},
                             {"attn.k_proj", "self_attn.k_proj"},
                             {"attn.v_proj", "self_attn.v_proj"},
                             {"attn.output_proj", "self_attn.o_proj"},
                             {"mlp.w1", "mlp.gate_proj"},
                             {"mlp.w2", "mlp.down_proj"},
                             {"mlp.w3", "mlp.up_proj"},
                             {"sa_norm.scale", "input_layernorm.weight"},
                             {"mlp_norm.scale", "post_attention_layernorm.weight"}};

/// `name` if it is `from` or goes on after it with a dot, with `to` in its place.
std::optional<std::string> replaced(llvm::StringRef name, llvm::StringRef from, llvm::StringRef to) {
  if (!name.consume_front(from)) return std::nullopt;
  if (!name.empty() && name.front() != '.') return std::nullopt;
  return (to + name).str();
}

}  // namespace

std::optional<std::string> huggingFaceName(llvm::StringRef torchtune) {
  for (const Pair& pair : kWhole)
    if (auto result = replaced(torchtune, pair.torchtune, pair.hugging_face)) return result;
  if (!torchtune.consume_front("layers.")) return std::nullopt;
  const auto [number, rest] = torchtune.split('.');
  if (number.empty() || !llvm::all_of(number, llvm::isDigit)) return std::nullopt;
  for (const Pair& pair : kInLayer)
    if (auto result = replaced(rest, pair.torchtune, pair.hugging_face))
      return ("model.layers." + number + "." + *result).str();
  return std::nullopt;
}

at::Tensor rowsFromHuggingFace(const at::Tensor& rows, int64_t head_width) {
  assert(rows.size(0) % head_width == 0 && "whole heads");
  return rows.reshape({rows.size(0) / head_width, 2, head_width / 2, -1}).transpose(1, 2).reshape(rows.sizes());
}

int64_t rowInHuggingFace(int64_t row, int64_t head_width) {
  const int64_t head = row / head_width, place = row % head_width;
  return head * head_width + place % 2 * (head_width / 2) + place / 2;
}

at::Tensor rowsToHuggingFace(const at::Tensor& rows, int64_t head_width) {
  assert(rows.size(0) % head_width == 0 && "whole heads");
  return rows.reshape({rows.size(0) / head_width, head_width / 2, 2, -1}).transpose(1, 2).reshape(rows.sizes());
}

}  // namespace expc::llama
