#pragma once

// Causal attention over the heads of a block, of whole rows or of packed samples, by the kernel that suits the
// device.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace expc::llama {

/// Samples packed one after the other in rows. A token sees those of its own sample, up to itself.
struct Documents {
  // Tokens of each sample of all rows, in order; padding counts as samples, so that they add up to B * S.
  std::vector<int64_t> lengths;
  at::Tensor bounds;  // int32 [samples + 1] on the decoder's device: where each sample begins, and the end

  bool defined() const { return !lengths.empty(); }
  /// `bounds` for these lengths, on the CPU.
  static at::Tensor boundsOf(const std::vector<int64_t>& lengths);
};

/// The kernel that computes attention. The first four have torch's numbers (sdp::SDPBackend); Host is flash attention
/// on the CPU. Only Plain holds a matrix of length x length.
enum class AttentionKernel { Plain, Flash, Efficient, CuDnn, Host };

/// softmax(q k^T / sqrt(width)) v by the kernel that torch chooses for a device, a type and the heads' shape. The
/// choice is made once, when it is constructed, because it depends on nothing else.
///
/// Flash attention needs 16 bits and compute capability 8. Below that and in fp32 there is the memory-efficient
/// kernel, which wants as many heads of keys and values as of queries, so these are repeated for it. On the CPU
/// 16-bit tensors are computed with in fp32: torch's own kernel rounds in between, and takes some four times as long
/// on the way back.
class Attention {
 public:
  Attention(at::Device device, at::ScalarType type, int64_t heads, int64_t kv_heads, int64_t head_width);

  /// Attention of each position to all before it in its row: q [batch, length, heads, width], k and v with kv_heads.
  /// The result has q's shape.
  at::Tensor ofRows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) const;
  /// Attention within each sample: q [tokens, heads, width], k and v with kv_heads. The result has q's shape.
  at::Tensor ofDocuments(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const Documents& documents) const;

  AttentionKernel kernel() const { return kernel_; }
  /// The kernel's name as a trial's result records it.
  const char* name() const;

 private:
  at::Tensor repeated(const at::Tensor& heads) const;

  AttentionKernel kernel_ = AttentionKernel::Host;
  int64_t shared_;        // heads of queries for each head of keys and values
  bool grouped_ = false;  // the kernel takes fewer heads of keys and values than of queries
  bool widened_ = false;  // 16-bit tensors are computed with in fp32
};

}  // namespace expc::llama
