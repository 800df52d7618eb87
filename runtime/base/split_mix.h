#pragma once

// A small random number generator with the same numbers on every machine and with every standard library:
// simulations and seeds must be reproducible.

#include <cstdint>

namespace expc::base {

/// The next number of SplitMix64 (Steele, Lea, Flood 2014), which advances `state`. Any state is valid.
inline uint64_t splitMix(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace expc::base
