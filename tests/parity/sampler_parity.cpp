#include <doctest/doctest.h>

#include "runtime/worker/data/sampler.h"
#include "tests/parity/fixtures.h"

namespace expc::parity {
namespace {

TEST_CASE("DistributedSampler gives torch's indices") {
  const auto json = readJson("sampler.json");
  int compared = 0;
  for (const auto& value : *json.getAsObject()->getArray("distributed_sampler")) {
    const auto& wanted = *value.getAsObject();
    const auto* ranks = wanted.getArray("ranks");
    if (ranks == nullptr) continue;  // a case that torch refuses
    data::DistributedSampler sampler;
    sampler.count = *wanted.getInteger("n");
    sampler.world = *wanted.getInteger("world");
    sampler.shuffle = *wanted.getBoolean("shuffle");
    sampler.seed = static_cast<uint64_t>(*wanted.getInteger("seed"));
    sampler.drop_last = *wanted.getBoolean("drop_last");
    for (sampler.rank = 0; sampler.rank < sampler.world; ++sampler.rank) {
      CHECK(sampler.indices(*wanted.getInteger("epoch")) == integers(*(*ranks)[sampler.rank].getAsArray()));
      ++compared;
    }
  }
  CHECK(compared > 56);
}

TEST_CASE("randomPermutation is torch.randperm") {
  const auto json = readJson("sampler.json");
  for (const auto& value : *json.getAsObject()->getArray("randperm")) {
    const auto& wanted = *value.getAsObject();
    const auto order =
        data::randomPermutation(*wanted.getInteger("n"), static_cast<uint64_t>(*wanted.getInteger("seed")));
    if (const auto* all = wanted.getArray("perm")) {
      CHECK(order == integers(*all));
    } else {
      CHECK(std::vector<int64_t>(order.begin(), order.begin() + 16) == integers(*wanted.getArray("first16")));
      int64_t sum = 0;
      for (size_t i = 0; i < order.size(); ++i) sum += static_cast<int64_t>(i + 1) * order[i];
      CHECK(sum == *wanted.getInteger("weighted_sum_sum_i_(i+1)*p_i"));
    }
  }
}

}  // namespace
}  // namespace expc::parity
