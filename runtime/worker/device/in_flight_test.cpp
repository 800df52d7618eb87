#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "runtime/worker/device/device.h"

using namespace expc::device;

namespace {

/// A queue whose copies are done when the test says so. A device that has failed throws at every
/// question.
class TestQueue final : public CopyQueue {
 public:
  at::Tensor copy(const at::Tensor& host) override { return host; }
  Mark mark() override { return std::make_shared<int>(marks_++); }
  void handOver(const Mark&, const std::vector<at::Tensor>&) override {}
  bool reached(const Mark& mark) override {
    ask();
    return *static_cast<int*>(mark.get()) < done;
  }
  void wait(const Mark& mark) override {
    ask();
    ++waits;
    done = std::max(done, *static_cast<int*>(mark.get()) + 1);
  }

  void finish() override { ask(); }

  int done = 0, waits = 0;
  bool failed = false;

 private:
  void ask() const {
    if (failed) throw std::runtime_error("CUDA error: unspecified launch failure");
  }
  int marks_ = 0;
};

/// Memory that counts its living instances.
std::shared_ptr<void> memory(int& alive) {
  ++alive;
  return {&alive, [&alive](void*) { --alive; }};
}

}  // namespace

TEST_CASE("memory under a copy is given back when the copy is done, and waited for when there is too much of it") {
  TestQueue queue;
  int alive = 0;
  {
    InFlight copies(queue);
    for (int i = 0; i < 3; ++i) copies.add(queue.mark(), memory(alive));
    copies.reclaim(3);
    CHECK(alive == 3);
    queue.done = 1;
    copies.reclaim(3);
    CHECK(alive == 2);
    CHECK(queue.waits == 0);
    copies.reclaim(1);
    CHECK(alive == 1);
    CHECK(queue.waits == 1);
  }
  CHECK(alive == 0);
  CHECK(queue.waits == 2);
}

TEST_CASE("a device that failed is not asked again, and memory that a copy may read is never given back") {
  TestQueue queue;
  int alive = 0;
  {
    InFlight copies(queue);
    copies.add(queue.mark(), memory(alive));
    queue.failed = true;
    CHECK_THROWS_AS(copies.reclaim(0), std::runtime_error);
  }
  CHECK(alive == 1);
}

TEST_CASE("an exception on its way waits for no device") {
  TestQueue queue;
  int alive = 0;
  try {
    InFlight copies(queue);
    copies.add(queue.mark(), memory(alive));
    throw std::runtime_error("another rank is gone");
  } catch (const std::runtime_error&) {
  }
  CHECK(queue.waits == 0);
  CHECK(alive == 1);
}
