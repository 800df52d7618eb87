#include "runtime/engine/heat_up.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <set>
#include <thread>

#include "runtime/engine/placement.h"
#include "runtime/engine/trial_runner.h"
#include "runtime/plan/trial.h"

namespace expc::engine {
namespace {

using Steady = std::chrono::steady_clock;

// The start of CUDA on a machine with many GPUs.
constexpr double kStartSeconds = 120;

// Between two looks at what ends a heat-up.
constexpr std::chrono::milliseconds kLook{100};

void spin(int core, const std::atomic<bool>& ended) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // without it the core is still warmed, more or less
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
  const auto end = Steady::now() + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
  std::atomic<bool> ended = false;
  std::vector<std::thread> threads;
  for (int core : cores) threads.emplace_back(spin, core, std::cref(ended));
  while (Steady::now() < end && !ends()) std::this_thread::sleep_until(std::min(end, Steady::now() + kLook));
  ended = true;
  for (std::thread& thread : threads) thread.join();
}

llvm::Expected<std::string> heatGpus(Launcher& launcher, const machine::Machine& machine,
                                     const std::vector<machine::Slot>& slots, const std::vector<unsigned>& nodes,
                                     const std::string& log_prefix, double seconds, const Interrupts& interrupts,
                                     const std::function<llvm::Error()>& tick) {
  TrialRequest request;
  request.nodes = nodes;
  request.spec.trial = "heat-up";
  request.spec.workload = plan::kHeatUp;
  request.spec.settings = llvm::json::Object{{"seconds", seconds}};
  request.log_prefix = log_prefix;
  request.timeout_seconds = seconds + kStartSeconds;
  std::vector<unsigned> all(slots.size());
  std::iota(all.begin(), all.end(), 0u);
  placeRanks(request, machine, slots, all, /*one_process=*/false);
  auto end = runTrial(launcher, interrupts, request, TrialHooks{tick, nullptr});
  if (!end) return end.takeError();
  return end->status == store::TrialStatus::Valid ? "" : end->reason;
}

}  // namespace expc::engine
