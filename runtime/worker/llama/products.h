#pragma once

// Products of an input with weights, in the forms that the methods of fine-tuning need. Products that share an input
// are one node of the graph.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "runtime/worker/llama/nf4.h"

namespace expc::llama {

// Products of large matrices outside of the graph. In fp32 on the CPU they go to oneDNN, which has AVX-512 where the
// BLAS of torch's wheel takes narrower vectors on processors that are not Intel's; everything else is torch's choice.

/// x [n, in] w [out, in]^T
at::Tensor timesTransposed(const at::Tensor& x, const at::Tensor& w);
/// g [n, out] w [out, in]
at::Tensor times(const at::Tensor& g, const at::Tensor& w);
/// sum += g w; an undefined sum becomes the product.
void addTimes(at::Tensor& sum, const at::Tensor& g, const at::Tensor& w);

/// y_i = x W_i^T for x [rows, in], with gradients of x and the W_i. Kept for the backward pass are x and the W_i.
std::vector<at::Tensor> trainedProducts(const at::Tensor& x, const std::vector<at::Tensor>& weights);

/// A weight [out, in] that gets no gradient: as it is, or in NF4.
struct FrozenWeight {
  at::Tensor dense;
  Nf4 nf4;

  int64_t rows() const { return nf4.defined() ? nf4.rows : dense.size(0); }
  int64_t columns() const { return nf4.defined() ? nf4.columns : dense.size(1); }
  /// As a matrix, which NF4 is made for each use.
  at::Tensor matrix(at::ScalarType type) const { return nf4.defined() ? dequantize(nf4, type) : dense; }
};

/// Low-rank matrices beside a weight: a [rank, in], b [out, rank]; both undefined where there are none.
struct Adapter {
  at::Tensor a, b;
  bool defined() const { return a.defined(); }
};

/// How adapters count.
struct AdapterUse {
  double scale = 1;           // alpha / rank
  double dropout = 0;         // share of their input that is dropped
  uint64_t dropout_seed = 0;  // decides which: the same seed drops the same elements
};

/// Moves the first matrices of adapters that read one input, [rank, in] each, into one piece of memory, so that
/// adaptedProducts need not copy them into one to multiply with all at once.
void layBehindEachOther(const std::vector<at::Tensor>& firsts);

/// A dropout_seed for one place in one pass of a training.
uint64_t dropoutSeed(uint64_t seed, uint64_t pass, uint64_t place);

/// y_i = x W_i^T + scale (drop(x) A_i^T) B_i^T for x [rows, in] (docs/semantics.md §3). All adapters read one x A^T,
/// with one draw of dropout; kept for the backward pass are x and that product, not what is dropped, which is drawn
/// again, and no matrix made from NF4. No gradient for the W_i, and none for x if it needs none.
std::vector<at::Tensor> adaptedProducts(const at::Tensor& x, const std::vector<FrozenWeight>& weights,
                                        const std::vector<Adapter>& adapters, const AdapterUse& use);

}  // namespace expc::llama
