#pragma once

// Which image goes to which rank in which order: torch's randperm and DistributedSampler, bit for bit
// (docs/semantics.md §9).

#include <cstdint>
#include <vector>

namespace expc::data {

/// torch.randperm(n) of a fresh CPU generator seeded with `seed` (its low 32 bits count): MT19937, Fisher-Yates from
/// the front. n below 2^32 / 20, where torch changes to 64-bit draws.
std::vector<int64_t> randomPermutation(int64_t n, uint64_t seed);

/// torch.utils.data.DistributedSampler: every rank gets the same number of indices; the tail is filled by repeating the
/// order from its start, or cut with `drop_last`.
struct DistributedSampler {
  int64_t count = 0;  // images
  int64_t world = 1;
  int64_t rank = 0;
  bool shuffle = true;
  uint64_t seed = 0;
  bool drop_last = false;

  /// Indices each rank gets in an epoch: ceil(count / world), or count div world when the tail is dropped.
  int64_t perRank() const;
  /// This rank's indices in `epoch` (order = randomPermutation(count, seed + epoch), or 0..count-1 unshuffled).
  std::vector<int64_t> indices(int64_t epoch) const;
};

/// For evaluation: rank, rank + world, … below count. Every image exactly once over all ranks; a rank may get one
/// fewer, or none.
std::vector<int64_t> evaluationShard(int64_t count, int64_t world, int64_t rank);

}  // namespace expc::data
