#include "tests/support/comm/conformance.h"

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

using namespace expc::comm;

namespace {

at::Device onTheCpu(Communicator&, const Rendezvous&) {
  at::set_num_threads(1);
  return at::kCPU;
}

}  // namespace

TEST_CASE("Gloo: every collective gives every rank the right elements") {
  for (const unsigned world : {1u, 2u, 4u}) {
    for (const auto& outcome : conformance::collectives(world, onTheCpu)) {
      CAPTURE(world);
      CHECK(outcome.ended);
      CHECK(outcome.said == "");
    }
  }
}

TEST_CASE("Gloo: a rank that dies or hangs ends every collective of the others, and the error names it") {
  for (const bool dies : {true, false}) {
    const auto all = conformance::interruptions();
    const auto said =
        conformance::interruptedAll(3, dies, onTheCpu, dies ? std::chrono::seconds(60) : conformance::kShortTimeout);
    for (size_t i = 0; i < all.size(); ++i) {
      CAPTURE(dies);
      CAPTURE(said[i]);
      CHECK(said[i].find(std::string("rank 0 of 3 lost the others in ") + all[i].operation) == 0);
    }
  }
}
