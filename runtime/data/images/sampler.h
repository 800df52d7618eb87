#pragma once

// The assignment of images to ranks, and their order: torch's randperm and DistributedSampler, bit for bit
// (docs/semantics.md §9), so that a training sees the images in the order of its Python counterpart.

#include <cstdint>
#include <vector>

namespace expc::data {

/// torch.randperm(n) of a fresh CPU generator seeded with `seed`, of which the low 32 bits count: MT19937 and a
/// Fisher-Yates shuffle from the front. n must be below 2^32 / 20, where torch changes to 64-bit draws.
std::vector<int64_t> randomPermutation(int64_t n, uint64_t seed);

/// torch.utils.data.DistributedSampler. Every rank gets the same number of images: the order is repeated from its start
/// until they can be shared out, or cut if `drop_last` is set.
struct DistributedSampler {
  int64_t count = 0;  // of images
  int64_t world = 1;  // of ranks
  int64_t rank = 0;
  bool shuffle = true;
  uint64_t seed = 0;
  bool drop_last = false;

  /// The images of each rank in an epoch: ceil(count / world), or floor with drop_last.
  int64_t perRank() const;
  /// This rank's images in `epoch`: every world-th of randomPermutation(count, seed + epoch), or of 0..count-1
  /// unshuffled.
  std::vector<int64_t> indices(int64_t epoch) const;
};

/// A rank's images for evaluation: rank, rank + world, … below count. Each image occurs exactly once over all ranks,
/// unlike with DistributedSampler, whose repetitions would count twice; a rank may get one image fewer, or none.
std::vector<int64_t> evaluationShard(int64_t count, int64_t world, int64_t rank);

}  // namespace expc::data
