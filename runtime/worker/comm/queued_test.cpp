#include "runtime/worker/comm/queued.h"

#include <doctest/doctest.h>

using namespace expc::comm;
using namespace std::chrono_literals;

namespace {

bool within(std::chrono::seconds limit, const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  return holds();
}

}  // namespace

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
