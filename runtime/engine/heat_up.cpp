#include "runtime/engine/heat_up.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <set>
#include <thread>

namespace expc::engine {
namespace {

using Clock = std::chrono::steady_clock;

void spin(int core, Clock::time_point end, const Interrupts& interrupts) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // without it the core is still warmed, more or less
  volatile double sink = 1;
  while (Clock::now() < end && !interrupts.requested()) {
    double x = sink;
    for (int i = 0; i < 20000; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
  }
}

}  // namespace

void heatUp(const std::vector<machine::Slot>& slots, double seconds, const Interrupts& interrupts) {
  if (seconds <= 0) return;
  std::set<int> cores;
  for (const machine::Slot& slot : slots) cores.insert(slot.cores.begin(), slot.cores.end());
  auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> threads;
  for (int core : cores) threads.emplace_back(spin, core, end, std::cref(interrupts));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace expc::engine
