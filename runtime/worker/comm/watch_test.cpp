#include <doctest/doctest.h>

#include <future>

#include "runtime/worker/comm/process_group.h"

using namespace expc::comm;
using namespace std::chrono_literals;

namespace {

Rendezvous twoRanks(std::chrono::milliseconds timeout) {
  Rendezvous rendezvous;
  rendezvous.world_size = 2;
  rendezvous.timeout = timeout;
  return rendezvous;
}

bool within(std::chrono::seconds limit, const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  return holds();
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

TEST_CASE("what has ended leaves nothing that is stuck, in its order") {
  Queued queued;
  CHECK(queued.stuckFor() == 0s);
  std::atomic<bool> first = false, second = true;
  queued.add([&] { return first.load(); });
  queued.add([&] { return second.load(); });
  CHECK(within(60s, [&] { return queued.stuckFor() > 300ms; }));
  first = true;
  CHECK(within(60s, [&] { return queued.stuckFor() == 0s; }));
}

TEST_CASE("each that ends is progress, though others are still queued") {
  Queued queued;
  std::atomic<bool> first = false, second = false;
  queued.add([&] { return first.load(); });
  queued.add([&] { return second.load(); });
  CHECK(within(60s, [&] { return queued.stuckFor() > 1s; }));
  first = true;
  CHECK(within(60s, [&] { return queued.stuckFor() < 1s; }));
  CHECK(queued.stuckFor() > 0s);
  second = true;
}

TEST_CASE("one that does not come back when it is asked is stuck, and nobody waits for it") {
  Queued queued;
  std::mutex held;
  std::unique_lock lock(held);
  queued.add([&] {
    const std::lock_guard waits(held);
    return true;
  });
  CHECK(within(60s, [&] { return queued.stuckFor() > 500ms; }));
  queued.add([] { return true; });
  lock.unlock();
  CHECK(within(60s, [&] { return queued.stuckFor() == 0s; }));
}
