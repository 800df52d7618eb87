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
  std::ranges::sort(order);
  std::ranges::sort(places);
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

TEST_CASE("the points of one instance of a service stand together, instances and points in random order") {
  plan::Plan plan;
  plan::Workload& workload = plan.workloads.emplace_back();
  workload.command.emplace().arguments = {"client"};
  plan::Service& service = workload.command->services.emplace_back();
  service.name = "server";
  service.command.arguments = {"server"};
  service.command.ready.emplace();
  service.parameters = {"cache"};
  std::vector<plan::Place> places;
  for (int cache = 0; cache < 3; ++cache)
    for (int load = 0; load < 4; ++load) {
      plan::Point& point = plan.points.emplace_back();
      point.id = std::to_string(cache) + std::to_string(load);
      point.parameters = llvm::json::Object{{"cache", cache}, {"load", load}};
      places.emplace_back(point.id);
    }
  std::map<std::string, int> first, inner;
  for (uint64_t number = 0; number < 3000; ++number) {
    const uint64_t seed = blockSeed(1, "study", plan::TrialKind::Timed, number);
    const auto order = blockOrder(places, seed, plan);
    unsigned changes = 0;
    for (size_t i = 1; i < order.size(); ++i) changes += order[i].point[0] != order[i - 1].point[0];
    CHECK(changes == 2);
    ++first[order[0].point.substr(0, 1)];
    ++inner[order[0].point.substr(1)];
  }
  for (const auto& [instance, count] : first) CHECK(std::abs(count - 1000) < 130);  // five standard deviations
  for (const auto& [load, count] : inner) CHECK(std::abs(count - 750) < 120);
  // With an instance for each trial nothing has to stand together, and the order is that of plans without services.
  plan.design.restart = plan::Restart::Trial;
  CHECK((blockOrder(places, 7, plan) == blockOrder(places, 7)));
}
