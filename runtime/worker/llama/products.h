#pragma once

// Products of an input with weights, in the forms that the methods of fine-tuning need: trained, frozen, with
// adapters. Weights that share an input are one node of the graph, so the input is kept once and its gradient summed
// in place.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "runtime/worker/llama/nf4.h"

namespace expc::llama {

// Products of large matrices outside of the graph. In fp32 on the CPU they go to oneDNN, which uses AVX-512 where the
// BLAS of torch's wheel takes narrower vectors on other processors than Intel's. In all other cases torch chooses.

/// x [n, in] times w [out, in] transposed: [n, out].
at::Tensor timesTransposed(const at::Tensor& x, const at::Tensor& w);
/// g [n, out] times w [out, in]: [n, in].
at::Tensor times(const at::Tensor& g, const at::Tensor& w);
/// sum += g w; an undefined sum becomes the product.
void addTimes(at::Tensor& sum, const at::Tensor& g, const at::Tensor& w);

/// y_i = x W_i^T for x [rows, in], with gradients of x and the W_i. The node keeps x and the W_i.
std::vector<at::Tensor> trainedProducts(const at::Tensor& x, const std::vector<at::Tensor>& weights);

/// A weight [out, in] without gradient: dense, or in NF4.
struct FrozenWeight {
  at::Tensor dense;
  Nf4 nf4;

  int64_t rows() const { return nf4.defined() ? nf4.rows : dense.size(0); }
  int64_t columns() const { return nf4.defined() ? nf4.columns : dense.size(1); }
  /// The weight as a matrix. One in NF4 is expanded to `type` for each use and not kept.
  at::Tensor matrix(at::ScalarType type) const { return nf4.defined() ? dequantize(nf4, type) : dense; }
};

/// Low-rank matrices beside a weight: a [rank, in], b [out, rank]; both undefined if there is no adapter.
struct Adapter {
  at::Tensor a, b;
  double scale = 1;  // alpha / rank
  /// DoRA (Liu et al. 2024): the norms [out] that the rows of the weight with its adapter are scaled to. Undefined:
  /// they stay as they are.
  at::Tensor magnitude;
  bool defined() const { return a.defined(); }
};

/// How adapters are applied in one call.
struct AdapterUse {
  double dropout = 0;         // share of the input's elements that is dropped, 0 to 1
  uint64_t dropout_seed = 0;  // the same seed drops the same elements
};

/// Moves the first matrices [rank, in] of adapters that read one input into one piece of memory, one after the other,
/// so that adaptedProducts can multiply with all at once without copying.
void layBehindEachOther(const std::vector<at::Tensor>& firsts);

/// A dropout_seed for one place in one pass.
uint64_t dropoutSeed(uint64_t seed, uint64_t pass, uint64_t place);

/// y_i = x W_i^T + scale_i (drop(x) A_i^T) B_i^T, times magnitudeFactor() if there are magnitudes, for x [rows, in]
/// (docs/semantics.md §3), with gradients of x (if it needs one) and of the adapters' matrices. All adapters share one
/// product x A^T with one draw of dropout. The node keeps x and that product; what dropout removes is drawn again on
/// the way back, and matrices made from NF4 are made again.
std::vector<at::Tensor> adaptedProducts(const at::Tensor& x, const std::vector<FrozenWeight>& weights,
                                        const std::vector<Adapter>& adapters, const AdapterUse& use);

/// A weight with its adapter, W + scale B A, in the type of sums and outside of the graph.
at::Tensor adaptedWeight(const at::Tensor& weight, const Adapter& adapter);
/// magnitude / |row of the weight with its adapter|, [out]: what DoRA multiplies results with. The norm is a constant
/// in the backward pass, as in PEFT.
at::Tensor magnitudeFactor(const at::Tensor& weight, const Adapter& adapter);

}  // namespace expc::llama
