#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "runtime/data/llama/config.h"
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

/// As many blocks of four numbers as are drawn at once.
constexpr uint32_t kPhiloxBlocks = 256;

/// Numbers of consecutive blocks: [i][b] is the ith of block b.
using PhiloxNumbers = std::array<std::array<uint32_t, kPhiloxBlocks>, 4>;

/// Philox4x32 of 10 rounds (Salmon et al. 2011), as at::Philox4_32(key, stream) draws from block `first` on, a vector
/// of blocks at a time. `first` is below 2^32 - kPhiloxBlocks.
void drawPhilox(uint64_t key, uint64_t stream, uint32_t first, PhiloxNumbers& numbers);

}  // namespace expc::llama
