#pragma once

// Products of large matrices outside of the graph. In fp32 on the CPU they go to oneDNN, which has AVX-512 where the
// BLAS of torch's wheel takes narrower vectors on processors that are not Intel's; everything else is torch's choice.

#include <ATen/core/Tensor.h>

namespace expc::llama {

/// x [n, in] w [out, in]^T
at::Tensor timesTransposed(const at::Tensor& x, const at::Tensor& w);
/// g [n, out] w [out, in]
at::Tensor times(const at::Tensor& g, const at::Tensor& w);
/// sum += g w; an undefined sum becomes the product.
void addTimes(at::Tensor& sum, const at::Tensor& g, const at::Tensor& w);

}  // namespace expc::llama
