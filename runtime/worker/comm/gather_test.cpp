#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include "runtime/worker/comm/communicator.h"
#include "tests/support/comm/ranks.h"

using namespace expc::comm;
using namespace std::chrono_literals;

namespace {

at::Tensor ofRank(unsigned rank, at::IntArrayRef shape, at::ScalarType type) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return (at::arange(count, at::kLong) + 100 * rank).to(type).view(shape);
}

std::string gatherAll(Communicator& communicator, int64_t buffer_bytes) {
  constexpr unsigned kRoot = 1;
  const unsigned world = communicator.worldSize();
  for (const auto type : {at::kFloat, at::kBFloat16, at::kLong})
    for (const auto& shape : std::vector<std::vector<int64_t>>{{13}, {3, 5}, {}, {0}}) {
      const at::Tensor own = ofRank(communicator.rank(), shape, type);
      const at::Tensor all = gatherOnHost(communicator, own, kRoot, buffer_bytes);
      if (communicator.rank() != kRoot) {
        if (all.defined()) return "another rank than the root keeps something";
        continue;
      }
      std::vector<at::Tensor> expected;
      for (unsigned rank = 0; rank < world; ++rank) expected.push_back(ofRank(rank, shape, type));
      if (!at::equal(all, at::stack(expected))) return "the root has other values";
    }
  return "well";
}

}  // namespace

TEST_CASE("one rank gathers what all have, in pieces of any size") {
  for (const int64_t bytes : {int64_t{1}, int64_t{48}, kGatherBytes}) {
    const auto outcomes = runRanks(3, 20s, 60s, [bytes](const Rendezvous& rendezvous) {
      at::set_num_threads(1);
      const auto communicator = Communicator::open(rendezvous);
      const std::string said = gatherAll(*communicator, bytes);
      communicator->shutdown();
      return said;
    });
    for (const auto& outcome : outcomes) {
      CAPTURE(bytes);
      CHECK(outcome.said == "well");
    }
  }
}
