#include "runtime/worker/profile/range.h"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace expc::profile;

namespace {

/// Records the calls that it gets.
class Notebook final : public PhaseClock {
 public:
  void begin(Phase phase) override { told.push_back("begin " + std::string(toString(phase))); }
  void end(Phase phase) override { told.push_back("end " + std::string(toString(phase))); }
  PhaseTimes take() override { return {}; }
  std::vector<std::string> told;
};

}  // namespace

TEST_CASE("ranges are entries only while their thread is measured") {
  Notebook notebook;
  {
    const Range before(Phase::Forward);
  }
  std::optional<Range> outlives, precedes;
  precedes.emplace(Phase::Epoch);
  {
    const Measuring measuring(notebook);
    const Range step(Phase::Step);
    {
      const Range load(Phase::Load);
    }
    precedes.reset();
    std::thread([] { const Range elsewhere(Phase::Copy); }).join();
    outlives.emplace(Phase::AllReduce);
  }
  outlives.reset();
  CHECK(notebook.told ==
        std::vector<std::string>{"begin step", "begin load", "end load", "begin all_reduce", "end step"});
}

TEST_CASE("the host's clock sums each phase and forgets what it gave") {
  const auto clock = makeHostClock();
  for (int i = 0; i < 3; ++i) {
    clock->begin(Phase::Step);
    clock->begin(Phase::Backward);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    clock->end(Phase::Backward);
    clock->end(Phase::Step);
  }
  const PhaseTimes times = clock->take();
  const auto& backward = times[size_t(Phase::Backward)];
  CHECK(backward.count == 3);
  CHECK(backward.seconds >= 0.006);
  CHECK(times[size_t(Phase::Step)].seconds >= backward.seconds);
  CHECK(times[size_t(Phase::Load)].count == 0);
  CHECK(clock->take()[size_t(Phase::Step)].count == 0);
}
