#include "runtime/data/images/sampler.h"

#include <cassert>
#include <numeric>
#include <random>
#include <utility>

namespace expc::data {

std::vector<int64_t> randomPermutation(int64_t n, uint64_t seed) {
  assert(n >= 0 && n < (int64_t{1} << 32) / 20);
  // The standard fixes MT19937 bit for bit, and torch's generator is the same.
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  // torch's randperm_cpu: the modulo is biased, but must be the same.
  for (int64_t i = 0; i + 1 < n; ++i) std::swap(order[i], order[i + int64_t(random() % uint64_t(n - i))]);
  return order;
}

int64_t DistributedSampler::perRank() const { return drop_last ? count / world : (count + world - 1) / world; }

std::vector<int64_t> DistributedSampler::indices(int64_t epoch) const {
  assert(world > 0 && rank >= 0 && rank < world && count >= 0);
  std::vector<int64_t> order;
  if (shuffle) {
    order = randomPermutation(count, seed + uint64_t(epoch));
  } else {
    order.resize(count);
    std::iota(order.begin(), order.end(), int64_t{0});
  }
  std::vector<int64_t> mine(perRank());
  // The modulo repeats the order from its start.
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = order[(rank + int64_t(i) * world) % count];
  return mine;
}

std::vector<int64_t> evaluationShard(int64_t count, int64_t world, int64_t rank) {
  assert(world > 0 && rank >= 0 && rank < world);
  std::vector<int64_t> mine;
  for (int64_t i = rank; i < count; i += world) mine.push_back(i);
  return mine;
}

}  // namespace expc::data
