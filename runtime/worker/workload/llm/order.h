#pragma once

#include <cstdint>
#include <vector>

namespace expc::workload::llm {

/// Which items each rank takes in which pass of which step. An epoch is a permutation of all items (torch's randperm,
/// seeded with the trial's seed and the epoch), of which rank r of W takes places r, r + W, …, as DistributedSampler
/// gives them out: W ranks with batches of B see in a pass what one rank with a batch of W B sees. Each step has
/// `accumulation` passes; items that make no whole step are left out of an epoch, others of the next one.
class Order {
 public:
  Order(int64_t count, int64_t ranks, int64_t batch, int64_t accumulation, uint64_t seed);

  int64_t stepsPerEpoch() const { return count_ / itemsPerStep(); }
  int64_t itemsPerStep() const { return ranks_ * batch_ * accumulation_; }
  int64_t accumulation() const { return accumulation_; }
  int64_t batch() const { return batch_; }
  /// All items of a step, counted from 0 over all epochs: pass by pass, in each the ranks' in turn.
  const int64_t* ofStep(int64_t step);
  /// Those of one rank in one pass of it.
  std::vector<int64_t> items(int64_t step, int64_t pass, int64_t rank);

 private:
  int64_t count_, ranks_, batch_, accumulation_;
  uint64_t seed_;
  int64_t epoch_ = -1;  // whose order this is:
  std::vector<int64_t> order_;
};

}  // namespace expc::workload::llm
