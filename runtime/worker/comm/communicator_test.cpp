#include "runtime/worker/comm/communicator.h"

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <thread>

#include "tests/support/comm/ranks.h"

using namespace expc::comm;
using namespace std::chrono_literals;

TEST_CASE("collectives over two ranks") {
  auto outcomes = runRanks(2, 20s, 60s, [](const Rendezvous& rendezvous) {
    at::set_num_threads(1);
    auto communicator = Communicator::open(rendezvous);
    const double rank = rendezvous.rank;
    std::string said;
    auto tensor = at::full({3}, rank + 1);
    communicator->allReduce(tensor, Reduction::Sum);
    said += std::to_string(tensor.sum().item<double>()) + " ";
    said += std::to_string(communicator->allReduce(rank * 10, Reduction::Max)) + " ";
    auto all = communicator->allGather(at::full({2}, rank));
    said += std::to_string(all[0].sum().item<double>() + 100 * all[1].sum().item<double>()) + " ";
    std::vector<at::Tensor> many{at::full({5}, rank + 3), at::full({}, int64_t(rank) + 4, at::kLong)};
    communicator->broadcastAll(many, 0, 1 << 20);
    said += std::to_string(many[0].sum().item<double>() + many[1].item<double>());
    communicator->shutdown();
    return said;
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.ended);
    CHECK(outcome.said == "9.000000 10.000000 200.000000 19.000000");
  }
}

TEST_CASE("nobody leaves a barrier before the last has come") {
  auto outcomes = runRanks(2, 20s, 60s, [](const Rendezvous& rendezvous) {
    at::set_num_threads(1);
    auto communicator = Communicator::open(rendezvous);
    communicator->barrier();
    const auto start = std::chrono::steady_clock::now();
    if (rendezvous.rank == 1) std::this_thread::sleep_for(300ms);
    communicator->barrier();
    const auto took = std::chrono::steady_clock::now() - start;
    communicator->shutdown();
    return std::string(took >= 290ms ? "waited" : "left early");
  });
  CHECK(outcomes[0].said == "waited");
  CHECK(outcomes[1].said == "waited");
}

TEST_CASE("a rank that never comes ends the rendezvous after the timeout") {
  auto outcomes = runRanks(2, 2s, 30s, [](const Rendezvous& rendezvous) -> std::string {
    if (rendezvous.rank == 1) return "never came";
    Communicator::open(rendezvous);
    return "alone";
  });
  REQUIRE(outcomes[0].ended);
  CHECK(outcomes[0].said.find("lost the others in the rendezvous at 127.0.0.1") != std::string::npos);
}

TEST_CASE("one rank alone needs no rendezvous") {
  auto outcomes = runRanks(1, 2s, 20s, [](const Rendezvous& rendezvous) -> std::string {
    Rendezvous alone = rendezvous;
    alone.master_port = 0;
    auto communicator = Communicator::open(alone);
    communicator->barrier();
    auto result = std::to_string(communicator->allReduce(2.5, Reduction::Sum));
    communicator->shutdown();
    return result;
  });
  CHECK(outcomes[0].said == "2.500000");
}
