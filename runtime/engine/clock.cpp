#include "runtime/engine/clock.h"

#include <ctime>

namespace expc::engine {
namespace {

double secondsOf(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class MachineClock final : public Clock {
 public:
  double boot() const override { return secondsOf(CLOCK_BOOTTIME); }
  double wall() const override { return secondsOf(CLOCK_REALTIME); }
};

}  // namespace

const Clock& Clock::real() {
  static const MachineClock clock;
  return clock;
}

}  // namespace expc::engine
