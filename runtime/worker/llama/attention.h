#pragma once

// Attention over the heads of a block.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace expc::llama {

/// Samples that lie one behind the other in rows: a token sees those of its own sample, up to itself.
struct Documents {
  std::vector<int64_t> lengths;  // of all samples of all rows, in order: as many tokens as there are, padding included
  at::Tensor bounds;             // int32 [samples + 1] on the decoder's device: where each begins, and the end

  bool defined() const { return !lengths.empty(); }
  /// `bounds` on the CPU, of these lengths.
  static at::Tensor boundsOf(const std::vector<int64_t>& lengths);
};

/// What computes attention on a device, with torch's numbers (sdp::SDPBackend) where it is torch that chooses. All but
/// Plain hold no matrix of length x length.
enum class AttentionKernel { Plain, Flash, Efficient, CuDnn, Host };

/// softmax(q k^T / sqrt(width)) v, by the kernel that torch chooses for a device, a type and the shape of the heads.
/// The choice is made once: flash attention wants 16 bits and compute capability 8, below and in fp32 there is the
/// memory-efficient one, which wants as many heads of keys and values as of queries, so that they are repeated for it.
/// On the CPU in 16 bits the arithmetic is in fp32, between tensors that are kept in 16: torch's own rounds inside, and
/// takes some four times as long on the way back.
class Attention {
 public:
  Attention(at::Device device, at::ScalarType type, int64_t heads, int64_t kv_heads, int64_t head_width);

  /// Each position of a row with all before it: q [batch, length, heads, width], k and v with kv_heads; as q.
  at::Tensor ofRows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) const;
  /// Each sample by itself: q [tokens, heads, width], k and v with kv_heads; as q.
  at::Tensor ofDocuments(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const Documents& documents) const;

  AttentionKernel kernel() const { return kernel_; }
  /// As a result records it.
  const char* name() const;

 private:
  at::Tensor repeated(const at::Tensor& heads) const;

  AttentionKernel kernel_ = AttentionKernel::Host;
  int64_t shared_;        // heads of queries for each of keys and values
  bool grouped_ = false;  // the kernel takes fewer of the latter
  bool widened_ = false;  // it computes in fp32 what is kept in 16 bits
};

}  // namespace expc::llama
