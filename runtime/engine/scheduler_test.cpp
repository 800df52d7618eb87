#include "runtime/engine/scheduler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace expc;
using namespace expc::engine;

TEST_CASE("order and seed of a block depend on seed, study, kind and number alone") {
  std::vector<plan::Place> places;
  for (int i = 0; i < 20; ++i) places.push_back(std::to_string(i));
  uint64_t seed = blockSeed(7, "study", plan::TrialKind::Timed, 0);
  CHECK(seed == blockSeed(7, "study", plan::TrialKind::Timed, 0));
  CHECK(seed != blockSeed(8, "study", plan::TrialKind::Timed, 0));
  CHECK(seed != blockSeed(7, "other", plan::TrialKind::Timed, 0));
  CHECK(seed != blockSeed(7, "study", plan::TrialKind::Quality, 0));
  CHECK(seed != blockSeed(7, "study", plan::TrialKind::Timed, 1));
  CHECK(seed < (1ull << 53));
  plan::Plan plan;
  plan.workloads.resize(2);
  CHECK(trialSeed(plan, seed) == seed);
  plan.workloads[1].command.emplace();
  CHECK(trialSeed(plan, seed) == seed >> 22);
  CHECK(trialSeed(plan, (1ull << 53) - 1) == kCommandSeeds - 1);
  auto order = blockOrder(places, seed);
  CHECK((order == blockOrder(places, seed)));
  CHECK((order != places));
  std::sort(order.begin(), order.end());
  std::sort(places.begin(), places.end());
  CHECK((order == places));
}

TEST_CASE("every order comes up about equally often") {
  std::map<std::string, int> seen;
  for (uint64_t number = 0; number < 6000; ++number) {
    auto order = blockOrder({"a", "b", "c"}, blockSeed(1, "study", plan::TrialKind::Timed, number));
    ++seen[order[0].point + order[1].point + order[2].point];
  }
  CHECK(seen.size() == 6);
  for (auto& [order, count] : seen) CHECK(std::abs(count - 1000) < 150);  // five standard deviations
}
