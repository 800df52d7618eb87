#include "runtime/data/images/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

// The golden values of torch are in tests/parity; here is what must hold for any arguments.

namespace expc::data {
namespace {

TEST_CASE("a permutation has every number once and depends on the seed's low 32 bits only") {
  auto order = randomPermutation(1000, 3);
  CHECK(order == randomPermutation(1000, 3 + (uint64_t{1} << 32)));
  CHECK(order != randomPermutation(1000, 4));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) REQUIRE(order[i] == i);
  CHECK(randomPermutation(0, 1).empty());
}

TEST_CASE("ranks cover an epoch together, with repeats only in the padding") {
  for (int64_t count : {1, 5, 16, 17, 100}) {
    for (int64_t world : {1, 2, 3, 7}) {
      for (bool drop : {false, true}) {
        std::multiset<int64_t> seen;
        for (int64_t rank = 0; rank < world; ++rank) {
          DistributedSampler sampler{count, world, rank, true, 1, drop};
          const auto mine = sampler.indices(2);
          CHECK(int64_t(mine.size()) == sampler.perRank());
          seen.insert(mine.begin(), mine.end());
        }
        const std::set<int64_t> distinct(seen.begin(), seen.end());
        if (drop)
          CHECK(distinct.size() == seen.size());
        else
          CHECK(int64_t(distinct.size()) == count);
        CHECK(int64_t(seen.size()) % world == 0);
      }
    }
  }
}

TEST_CASE("evaluation shards have every image exactly once") {
  std::multiset<int64_t> seen;
  for (int64_t rank = 0; rank < 7; ++rank) {
    const auto mine = evaluationShard(360, 7, rank);
    seen.insert(mine.begin(), mine.end());
  }
  CHECK(seen.size() == 360);
  CHECK(std::set<int64_t>(seen.begin(), seen.end()).size() == 360);
  CHECK(evaluationShard(2, 4, 3).empty());
}

}  // namespace
}  // namespace expc::data
