#include "runtime/worker/llama/philox.h"

#include "runtime/worker/data/clones.h"

namespace expc::llama {

// Whole numbers only: nothing that instruction sets could round in another way.
EXPC_CLONES void drawPhilox(uint64_t key, uint64_t stream, uint32_t first, PhiloxNumbers& numbers) {
  uint32_t* const out[] = {numbers[0].data(), numbers[1].data(), numbers[2].data(), numbers[3].data()};
  for (uint32_t block = 0; block < kPhiloxBlocks; ++block) {
    uint32_t a = first + block, b = 0, c = static_cast<uint32_t>(stream), d = static_cast<uint32_t>(stream >> 32);
    uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t from_a = uint64_t{0xD2511F53} * a, from_c = uint64_t{0xCD9E8D57} * c;
      a = static_cast<uint32_t>(from_c >> 32) ^ b ^ low;
      b = static_cast<uint32_t>(from_c);
      c = static_cast<uint32_t>(from_a >> 32) ^ d ^ high;
      d = static_cast<uint32_t>(from_a);
      low += 0x9E3779B9;
      high += 0xBB67AE85;
    }
    out[0][block] = a, out[1][block] = b, out[2][block] = c, out[3][block] = d;
  }
}

}  // namespace expc::llama
