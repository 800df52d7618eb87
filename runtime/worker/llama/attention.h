#pragma once

// Attention over the heads of a block.

#include <ATen/core/Tensor.h>

namespace expc::llama {

/// softmax(q k^T / sqrt(width)) v for q, k, v [batch, heads, length, width]; `mask` (bool [batch, 1, length, length])
/// or, where it is undefined, each position and all before it. With `grouped` k and v may have fewer heads. On the CPU
/// in 16 bits the arithmetic is in fp32, between tensors that are kept in 16: torch's own rounds inside, and takes some
/// four times as long on the way back.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& mask,
                     bool grouped);

}  // namespace expc::llama
