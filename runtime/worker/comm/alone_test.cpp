#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <thread>
#include <utility>

#include "runtime/worker/comm/communicator.h"
#include "tests/support/comm/ranks.h"

using namespace expc::comm;
using namespace std::chrono_literals;

namespace {

constexpr auto kTimeout = 1s;

/// Runs `work` on rank `root` of two ranks, and a collective behind it. Returns what each rank
/// reports.
std::vector<RankOutcome> withRoot(unsigned root, const std::function<llvm::Error(const CallOthers&)>& work) {
  return runRanks(2, kTimeout, 60s, [=](const Rendezvous& rendezvous) -> std::string {
    at::set_num_threads(1);
    const auto communicator = Communicator::open(rendezvous);
    if (auto error = whileOneWorks(*communicator, root, work)) return llvm::toString(std::move(error));
    const double sum = communicator->allReduce(1.0 + rendezvous.rank, Reduction::Sum);
    communicator->shutdown();
    return std::to_string(sum);
  });
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a rank may work alone for longer than the timeout") {
  for (const unsigned root : {0U, 1U}) {
    const auto outcomes = withRoot(root, [](const CallOthers&) {
      std::this_thread::sleep_for(3 * kTimeout);
      return llvm::Error::success();
    });
    for (const auto& outcome : outcomes) CHECK(outcome.said == "3.000000");
  }
}

TEST_CASE("a rank that dies while it works alone is noticed") {
  for (const unsigned root : {0U, 1U}) {
    CAPTURE(root);
    const auto outcomes = withRoot(root, [](const CallOthers&) -> llvm::Error {
      std::this_thread::sleep_for(2 * kTimeout);
      _exit(3);
    });
    const RankOutcome& other = outcomes[1 - root];
    CHECK(other.ended);
    CHECK(contains(other.said, "lost the others in what one rank does alone"));
  }
}

TEST_CASE("work that fails is an error on its rank, and the others know") {
  const auto outcomes = withRoot(0, [](const CallOthers&) { return llvm::createStringError("no room left"); });
  CHECK(outcomes[0].said == "no room left");
  CHECK(contains(outcomes[1].said, "rank 0 could not do it"));
  const auto thrown = withRoot(0, [](const CallOthers&) -> llvm::Error { throw std::runtime_error("broken"); });
  CHECK(contains(thrown[0].said, "broken"));
  CHECK(contains(thrown[1].said, "rank 0 could not do it"));
}

TEST_CASE("the rank that works may call the others to collectives") {
  const auto outcomes = runRanks(3, 2s, 60s, [](const Rendezvous& rendezvous) -> std::string {
    at::set_num_threads(1);
    const auto communicator = Communicator::open(rendezvous);
    std::string said;
    for (int time = 0; time < 2; ++time) {
      double seen = 0;
      const auto sum = [&] { seen += communicator->allReduce(1.0 + rendezvous.rank, Reduction::Sum); };
      const auto work = [&](const CallOthers& call_others) {
        for (int i = 0; i < 4; ++i) {
          std::this_thread::sleep_for(50ms);
          call_others();
          sum();
        }
        return llvm::Error::success();
      };
      if (auto error = whileOneWorks(*communicator, 1, work, sum)) return llvm::toString(std::move(error));
      said += std::to_string(seen) + " ";
    }
    communicator->shutdown();
    return said;
  });
  for (const auto& outcome : outcomes) CHECK(outcome.said == "24.000000 24.000000 ");
}

TEST_CASE("one rank alone just works") {
  const auto outcomes = runRanks(1, 2s, 20s, [](const Rendezvous& rendezvous) -> std::string {
    const auto communicator = Communicator::open(rendezvous);
    bool worked = false;
    const auto work = [&](const CallOthers& call_others) {
      call_others();
      worked = true;
      return llvm::Error::success();
    };
    if (auto error = whileOneWorks(*communicator, 0, work)) return llvm::toString(std::move(error));
    communicator->shutdown();
    return worked ? "worked" : "did nothing";
  });
  CHECK(outcomes[0].said == "worked");
}
