#include "runtime/engine/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace expc::engine {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same on every machine.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform below `bound`, without the bias of a remainder.
  uint64_t below(uint64_t bound) {
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound, value = next();
    while (value >= limit) value = next();
    return value % bound;
  }

 private:
  uint64_t state_;
};

}  // namespace

uint64_t blockSeed(uint64_t design_seed, const std::string& study, plan::TrialKind kind, uint64_t number) {
  std::string hash =
      plan::shortHash(fmt::format("block {} {} {} {}", design_seed, plan::toString(kind), number, study));
  return std::stoull(hash, nullptr, 16) >> 11;
}

std::vector<plan::Place> blockOrder(std::vector<plan::Place> places, uint64_t block_seed) {
  SplitMix random(block_seed);
  for (size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random.below(i)]);
  return places;
}

}  // namespace expc::engine
