#include "runtime/worker/workload/llm/order.h"

#include <cassert>

#include "runtime/worker/data/sampler.h"

namespace expc::workload::llm {

Order::Order(int64_t count, int64_t ranks, int64_t batch, int64_t accumulation, uint64_t seed)
    : count_(count), ranks_(ranks), batch_(batch), accumulation_(accumulation), seed_(seed) {}

const int64_t* Order::ofStep(int64_t step) {
  assert(stepsPerEpoch() > 0 && "enough items for a step");
  const int64_t epoch = step / stepsPerEpoch();
  if (epoch != epoch_) {
    order_ = data::randomPermutation(count_, seed_ + static_cast<uint64_t>(epoch));
    epoch_ = epoch;
  }
  return order_.data() + step % stepsPerEpoch() * itemsPerStep();
}

std::vector<int64_t> Order::items(int64_t step, int64_t pass, int64_t rank) {
  const int64_t* of_pass = ofStep(step) + pass * batch_ * ranks_;
  std::vector<int64_t> result;
  result.reserve(static_cast<size_t>(batch_));
  for (int64_t i = 0; i < batch_; ++i) result.push_back(of_pass[i * ranks_ + rank]);
  return result;
}

}  // namespace expc::workload::llm
