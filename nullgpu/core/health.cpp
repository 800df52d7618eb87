// The process-wide state behind every call. The checks are a few relaxed loads, since each call
// makes them; only the first call of a process does real work (begin()).

#include "nullgpu/core/health.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/host_guard.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/process.h"

namespace nullgpu {
namespace {

constinit Dependents dependents;
std::atomic<bool> begun{false};
std::atomic<cudaError_t> stuck{cudaSuccess};
/// Set in the child of a fork, and when the process ends.
std::atomic<bool> child{false}, ending{false};
std::atomic<uint64_t> launches{0};
thread_local unsigned selected = 0;
thread_local bool in_host_function = false;

/// Prepares the process at its first call. From here on a fork leaves the child without cards, as
/// in CUDA, and the end of the process ends the queues.
void begin() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { child = true; });
    catchHostTouches();
    std::atexit([] { dependents.ends(); });
    begun = true;
  });
}

}  // namespace

void setDependents(Dependents given) { dependents = given; }

bool unload() { return !child && (ending = true); }

cudaError_t presence() {
  // The order matters: a child must answer before it could begin anything, and one that is ending
  // has no queues left.
  if (child.load(std::memory_order_relaxed)) return cudaErrorInitializationError;
  if (!begun.load(std::memory_order_acquire)) begin();
  if (ending.load(std::memory_order_relaxed)) return cudaErrorCudartUnloading;
  if (in_host_function) return cudaErrorNotPermitted;
  if (visibleCards().empty()) return cudaErrorNoDevice;
  return cudaSuccess;
}

cudaError_t health() {
  const cudaError_t error = presence();
  return error ? error : stuckError();
}

cudaError_t stuckError() { return stuck.load(std::memory_order_relaxed); }

void stick(cudaError_t error) {
  cudaError_t expected = cudaSuccess;
  if (stuck.compare_exchange_strong(expected, error)) dependents.stuck();
}

unsigned currentCard() { return selected; }

cudaError_t selectCard(int card) {
  if (!isCard(card)) return cudaErrorInvalidDevice;
  selected = unsigned(card);
  return cudaSuccess;
}

bool launchesMatter() { return configuration().faults.launch || configuration().faults.lost; }

cudaError_t countLaunches(uint64_t more) {
  if (!launchesMatter()) return cudaSuccess;
  const Faults& faults = configuration().faults;
  const uint64_t count = launches += more;
  // "lost" is checked before "launch" because the card is lost for the whole machine, which others
  // must see.
  if (faults.lost && count >= *faults.lost) {
    machine().lose(visibleCards()[currentCard()]);
    stick(cudaErrorUnknown);
  }
  if (faults.launch && count >= *faults.launch) stick(cudaErrorIllegalAddress);
  return stuckError();
}

void noticeLoss() {
  // Nanoseconds between two looks: state() takes the machine's lock and reads /proc, too much for
  // each wait.
  constexpr uint64_t kPause = 50'000'000;
  static std::atomic<uint64_t> asked{0};
  const uint64_t time = now();
  if (configuration().machine.empty() || time < asked + kPause) return;
  asked = time;
  if (machine().state(visibleCards()[currentCard()]).lost) stick(cudaErrorUnknown);
}

void setHostFunctionRuns(bool runs) { in_host_function = runs; }

}  // namespace nullgpu
