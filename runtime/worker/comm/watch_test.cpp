#include "runtime/worker/comm/watch.h"

#include <doctest/doctest.h>

#include <future>

using namespace expc::comm;
using namespace std::chrono_literals;

namespace {

Rendezvous twoRanks(std::chrono::milliseconds timeout) {
  Rendezvous rendezvous;
  rendezvous.world_size = 2;
  rendezvous.timeout = timeout;
  return rendezvous;
}

}  // namespace

TEST_CASE("the watch reports what is found out about a queued collective, once, and by the name of the last one") {
  std::atomic<bool> broken = false;
  std::atomic<int> reports = 0;
  std::promise<std::string> said;
  Watch watch(
      twoRanks(60s), [&] { return broken ? std::string("a connection broke") : std::string(); },
      [&](const std::string& message) {
        if (++reports == 1) said.set_value(message);
      });
  {
    const Watch::Operation queued(&watch, "a broadcast");
  }
  watch.nowIn("a backward pass");
  broken = true;
  CHECK(said.get_future().get() ==
        "rank 0 of 2 lost the others in a backward pass: a connection broke (another rank died, hangs or cannot be "
        "reached; its log says more)");
  std::this_thread::sleep_for(300ms);
  CHECK(reports == 1);
}

TEST_CASE("an operation that does not come back is reported after the timeout; one that came back never is") {
  std::promise<std::string> said;
  Watch watch(twoRanks(1ms), [] { return std::string(); }, [&](const std::string& text) { said.set_value(text); });
  {
    const Watch::Operation quick(&watch, "an all-reduce");
  }
  auto future = said.get_future();
  CHECK(future.wait_for(1500ms) == std::future_status::timeout);
  const Watch::Operation stuck(&watch, "the set-up of NCCL");
  CHECK(future.get().find("rank 0 of 2 lost the others in the set-up of NCCL: it has not come back for 0 s") == 0);
}

TEST_CASE("a watch that is not there watches nothing") { const Watch::Operation none(nullptr, "an all-reduce"); }
