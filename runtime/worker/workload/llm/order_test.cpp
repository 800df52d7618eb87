#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "runtime/data/images/sampler.h"
#include "runtime/worker/workload/llm/rows.h"

using expc::workload::llm::Order;

TEST_CASE("ranks and passes divide what one rank sees in one pass") {
  Order whole(50, 1, 12, 1, 7), divided(50, 2, 3, 2, 7);
  REQUIRE(whole.stepsPerEpoch() == 4);
  REQUIRE(divided.stepsPerEpoch() == 4);
  for (int64_t step = 0; step < 9; ++step) {
    std::vector<int64_t> parts;
    for (const int64_t pass : {0, 1})
      for (const int64_t rank : {0, 1})
        for (const int64_t item : divided.items(step, pass, rank)) parts.push_back(item);
    std::vector<int64_t> all = whole.items(step, 0, 0);
    std::sort(parts.begin(), parts.end());
    std::sort(all.begin(), all.end());
    CHECK(parts == all);
  }
}

TEST_CASE("an epoch takes no item twice; rank r has what DistributedSampler gives it; the next epoch differs") {
  Order order(21, 3, 2, 1, 5);
  REQUIRE(order.stepsPerEpoch() == 3);
  expc::data::DistributedSampler sampler;
  sampler.count = 21, sampler.world = 3, sampler.rank = 1, sampler.seed = 5;
  std::vector<std::vector<int64_t>> epochs;
  for (const int64_t epoch : {0, 1}) {
    std::set<int64_t> seen;
    std::vector<int64_t> of_one;
    for (int64_t step = 3 * epoch; step < 3 * epoch + 3; ++step) {
      seen.insert(order.ofStep(step), order.ofStep(step) + order.itemsPerStep());
      const auto items = order.items(step, 0, 1);
      of_one.insert(of_one.end(), items.begin(), items.end());
    }
    CHECK(seen.size() == 18);
    auto expected = sampler.indices(epoch);
    expected.resize(6);
    CHECK(of_one == expected);
    epochs.push_back(of_one);
  }
  CHECK(epochs[0] != epochs[1]);
}

TEST_CASE("too few items are no step") { CHECK(Order(5, 2, 3, 1, 1).stepsPerEpoch() == 0); }
