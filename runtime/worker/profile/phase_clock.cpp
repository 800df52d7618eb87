#include "runtime/worker/profile/phase_clock.h"

#include <chrono>
#include <utility>

namespace expc::profile {
namespace {

using Clock = std::chrono::steady_clock;

class HostClock final : public PhaseClock {
 public:
  void begin(Phase phase) override { begun_[static_cast<size_t>(phase)] = Clock::now(); }
  void end(Phase phase) override {
    const auto now = Clock::now();
    const auto index = static_cast<size_t>(phase);
    times_[index].seconds += std::chrono::duration<double>(now - begun_[index]).count();
    ++times_[index].count;
  }
  PhaseTimes take() override { return std::exchange(times_, {}); }

 private:
  std::array<Clock::time_point, kPhases> begun_{};
  PhaseTimes times_{};
};

}  // namespace

std::unique_ptr<PhaseClock> makeHostClock() { return std::make_unique<HostClock>(); }

}  // namespace expc::profile
