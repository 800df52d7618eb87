#pragma once

#include <array>
#include <cstdint>

namespace expc::llama {

/// As many blocks of four numbers as are drawn at once.
constexpr uint32_t kPhiloxBlocks = 256;

/// Numbers of consecutive blocks: [i][b] is the ith of block b.
using PhiloxNumbers = std::array<std::array<uint32_t, kPhiloxBlocks>, 4>;

/// Philox4x32 of 10 rounds (Salmon et al. 2011), as at::Philox4_32(key, stream) draws from block `first` on, a vector
/// of blocks at a time. `first` is below 2^32 - kPhiloxBlocks.
void drawPhilox(uint64_t key, uint64_t stream, uint32_t first, PhiloxNumbers& numbers);

}  // namespace expc::llama
