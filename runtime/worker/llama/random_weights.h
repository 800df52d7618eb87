#pragma once

// Initial weights for a seed, without a model file: studies of speed and memory need no download, and a test gets the
// same model everywhere.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "runtime/data/model/llama.h"
#include "runtime/worker/llama/weight_source.h"

namespace expc::llama {

/// Initial values as torchtune's layers have them: embedding N(0, 1), matrices U(-1/sqrt(in), 1/sqrt(in)), norms 1.
/// An element depends only on the seed, the tensor and its place in it, because the generator (Philox) is
/// counter-based. So it is the same for any number of threads, whatever else is drawn, and up to rounding in every
/// type. Drawn in fp32, a few thousand values at a time, straight into a tensor of `dtype` on the CPU.
at::Tensor randomWeight(const TensorSpec& spec, uint64_t seed, at::ScalarType dtype);
/// A source of any elements of such weights; a rank can draw its part alone.
WeightSource randomWeights(uint64_t seed, at::ScalarType dtype);

/// U(-1/sqrt(in), 1/sqrt(in)) for an adapter's first matrix [rank, in]. `index` is the adapted weight's (TensorSpec).
at::Tensor randomAdapter(int64_t rank, int64_t in, uint64_t index, uint64_t seed, at::ScalarType dtype);

/// SplitMix64's finaliser: maps neighbouring numbers to unrelated ones.
uint64_t mixed(uint64_t x);

/// The number of blocks (of four numbers each) that are drawn at once, so that the compiler can use vectors.
constexpr uint32_t kPhiloxBlocks = 256;

/// Random numbers of consecutive blocks: [i][b] is the ith of block b.
using PhiloxNumbers = std::array<std::array<uint32_t, kPhiloxBlocks>, 4>;

/// Draws kPhiloxBlocks blocks from block `first` on with Philox4x32-10 (Salmon et al., "Parallel random numbers: as
/// easy as 1, 2, 3", SC 2011), equal to at::Philox4_32(key, stream). `first` must be below 2^32 - kPhiloxBlocks.
void drawPhilox(uint64_t key, uint64_t stream, uint32_t first, PhiloxNumbers& numbers);

}  // namespace expc::llama
