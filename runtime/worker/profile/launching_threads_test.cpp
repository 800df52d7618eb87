#include "runtime/worker/profile/launching_threads.h"

#include <doctest/doctest.h>
#include <time.h>

#include <latch>
#include <thread>

namespace expc::profile {
namespace {

double ownSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// The seconds that a thread adds to launchingSeconds() if it works for `work` seconds.
double added(double work, bool marked) {
  const double before = launchingSeconds(), own = ownSeconds();
  std::latch worked(1), seen(1);
  std::thread thread([&] {
    if (marked) markLaunchingThread();
    while (ownSeconds() < work) continue;
    worked.count_down();
    seen.wait();
  });
  worked.wait();
  const double after = launchingSeconds(), own_after = ownSeconds();
  seen.count_down();
  thread.join();
  return after - before - (own_after - own);
}

TEST_CASE("threads that launch are counted, and others are not") {
  constexpr double kWork = 0.05, kSlack = 0.01;  // seconds; slack is the time between two readings
  CHECK(added(kWork, true) > kWork - kSlack);
  CHECK(added(kWork, false) < kSlack);
}

}  // namespace
}  // namespace expc::profile
