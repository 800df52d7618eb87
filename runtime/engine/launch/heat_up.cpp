#include "runtime/engine/launch/heat_up.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "runtime/base/clock.h"

namespace expc::engine::launch {
namespace {

// The interval at which a heat-up asks whether it should end.
constexpr std::chrono::milliseconds kBetweenAsks{100};

/// Multiplies floating-point numbers on one core until `ended`. `volatile` keeps the compiler from removing the loop.
void spin(int core, const std::atomic<bool>& ended) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // One thread for each core, bound to it, or the scheduler would move several to one core.
  if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // if it fails, the core is still warmed, more or less
  volatile double sink = 1;
  while (!ended) {
    double x = sink;
    for (int i = 0; i < 20000; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
  }
}

}  // namespace

void heatUp(const std::vector<machine::Slot>& slots, double seconds, const std::function<bool()>& ends) {
  if (seconds <= 0) return;
  std::set<int> cores;
  for (const machine::Slot& slot : slots) cores.insert(slot.cores.begin(), slot.cores.end());
  const auto end =
      base::Clock::now() + std::chrono::duration_cast<base::Clock::duration>(std::chrono::duration<double>(seconds));
  std::atomic<bool> ended = false;
  std::vector<std::thread> threads;
  for (int core : cores) threads.emplace_back(spin, core, std::cref(ended));
  while (base::Clock::now() < end && !ends())
    std::this_thread::sleep_until(std::min(end, base::Clock::now() + kBetweenAsks));
  ended = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace expc::engine::launch
