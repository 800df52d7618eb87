#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/worker/llama/config.h"
#include "runtime/worker/llama/weight_source.h"

namespace expc::llama {

/// Initial values as torchtune's layers have them: embedding N(0, 1), products U(-1/sqrt(in), 1/sqrt(in)), norms one.
/// The value of an element depends on the seed, the tensor and the element's place alone (a counter-based generator,
/// Philox), so it is the same for any number of threads, whatever else is drawn, and in all types, but for rounding.
/// Drawn in fp32, a few thousand at a time, straight into a tensor of `dtype` on the CPU.
at::Tensor randomWeight(const TensorSpec& spec, uint64_t seed, at::ScalarType dtype);
/// Any elements of it.
WeightSource randomWeights(uint64_t seed, at::ScalarType dtype);

/// U(-1/sqrt(in), 1/sqrt(in)) for an adapter's first matrix [rank, in], the `index`th tensor of its kind.
at::Tensor randomAdapter(int64_t rank, int64_t in, uint64_t index, uint64_t seed, at::ScalarType dtype);

/// SplitMix64: neighbouring numbers become unrelated ones.
uint64_t mixed(uint64_t x);

}  // namespace expc::llama
