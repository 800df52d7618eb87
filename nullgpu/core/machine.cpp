#include "nullgpu/core/machine.h"

#include <unistd.h>

#include <algorithm>

#include "nullgpu/core/process.h"
#include "nullgpu/core/throttle.h"
#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

// What a card of this kind draws and how it clocks; the numbers are those of an H200 in round figures.
constexpr uint64_t kIdleWatts = 60, kWorkWatts = 440;
constexpr unsigned kIdleClock = 345, kWorkClock = 1980, kThrottledClock = 1200, kMemoryClock = 3201;  // MHz
constexpr unsigned kIdleCelsius = 32, kWorkCelsius = 33;
constexpr uint64_t kGpuIdle = 1;  // NVML's bit: the clocks are low because nothing runs

constexpr uint64_t kMeanOver = 4;  // slices, the one under way among them

/// The share of the last slices in which the card worked.
double utilisation(const SharedCard& card, uint64_t time) {
  const uint64_t slice = time / kSliceNanoseconds;
  uint64_t worked = 0;
  for (const auto& packed : card.slices) {
    const uint64_t value = packed.load(std::memory_order_relaxed);
    if ((value >> 32) + kMeanOver > (slice & UINT32_MAX)) worked += value & UINT32_MAX;
  }
  const uint64_t span = (kMeanOver - 1) * kSliceNanoseconds + time % kSliceNanoseconds;
  return std::min(1.0, static_cast<double>(worked) / static_cast<double>(span));
}

void addToSlice(SharedCard& card, uint64_t slice, uint64_t nanoseconds) {
  auto& packed = card.slices[slice % kSlices];
  const uint64_t number = slice & UINT32_MAX;
  uint64_t before = packed.load(std::memory_order_relaxed), after = 0;
  do after = (before >> 32) == number ? before + nanoseconds : (number << 32) + nanoseconds;
  while (!packed.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

/// When this process began. Asked under the lock of the machine.
uint64_t ownStart() {
  static int pid = 0;
  static uint64_t started = 0;
  if (pid != getpid()) {  // the first call, or a fork's first
    pid = getpid();
    started = startOf(pid);
  }
  return started;
}

}  // namespace

CardState Machine::state(unsigned card) {
  CardState state;
  {
    const MachineFile::Lock lock(file_);
    reclaim();
    for (const SharedProcess& process : file_.shared().processes) {
      if (process.opened >> card & 1) state.processes.push_back({process.pid, process.bytes[card]});
    }
    state.used = used(card);
  }
  const SharedCard& shared = at(card);
  const uint64_t time = sharedClock(), born = file_.shared().born;
  const uint64_t age = time > born ? time - born : 0;  // a file may be older than the machine's start
  const double working = utilisation(shared, time);
  state.millijoules = (kIdleWatts * (age / 1000) + kWorkWatts * (shared.busy / 1000)) / 1000;
  state.milliwatts = static_cast<unsigned>(1000.0 * (kIdleWatts + kWorkWatts * working));
  state.celsius = static_cast<unsigned>(kIdleCelsius + kWorkCelsius * working);
  state.clock_mhz = working > 0 ? kWorkClock : kIdleClock;
  state.memory_clock_mhz = kMemoryClock;
  state.throttle = throttleAsked(card);
  if (state.throttle && working > 0) state.clock_mhz = kThrottledClock;
  if (working == 0) state.throttle |= kGpuIdle;
  state.lost = shared.lost;
  return state;
}

bool Machine::reserve(unsigned card, uint64_t bytes) {
  const uint64_t memory = file_.shared().description.memory;
  const MachineFile::Lock lock(file_);
  SharedProcess& process = enter();
  process.opened |= uint64_t{1} << card;
  if (bytes > memory) return false;
  if (used(card) + bytes > memory) reclaim();
  if (used(card) + bytes > memory) return false;
  process.bytes[card] += bytes;
  return true;
}

void Machine::release(unsigned card, uint64_t bytes) {
  const MachineFile::Lock lock(file_);
  // A fork has no entry and gives back nothing of its parent's.
  if (SharedProcess* process = own()) process->bytes[card] -= std::min(bytes, process->bytes[card]);
}

void Machine::worked(unsigned card, uint64_t nanoseconds) {
  SharedCard& shared = at(card);
  const uint64_t end = sharedClock();
  // What other streams or processes did meanwhile is counted already: a card draws no more than it can.
  uint64_t until = shared.busy_until.load(std::memory_order_relaxed);
  uint64_t begin = 0;
  do {
    begin = std::max(end - std::min(nanoseconds, end), until);
    if (begin >= end) return;
  } while (!shared.busy_until.compare_exchange_weak(until, end, std::memory_order_relaxed));
  shared.busy.fetch_add(end - begin, std::memory_order_relaxed);
  const uint64_t last = end / kSliceNanoseconds;
  for (uint64_t slice = std::max(begin / kSliceNanoseconds, last - std::min<uint64_t>(last, kSlices - 1));
       slice <= last; ++slice) {
    const uint64_t from = std::max(begin, slice * kSliceNanoseconds);
    addToSlice(shared, slice, std::min(end, (slice + 1) * kSliceNanoseconds) - from);
  }
}

void Machine::lose(unsigned card) { at(card).lost = 1; }

/// This process's entry; null before it reserved anything.
SharedProcess* Machine::own() {
  const int pid = getpid();
  auto& processes = file_.shared().processes;
  const auto found = std::ranges::find(processes, pid, &SharedProcess::pid);
  return found != processes.end() && found->started == ownStart() ? &*found : nullptr;
}

SharedProcess& Machine::enter() {
  if (SharedProcess* process = own()) return *process;
  reclaim();  // of a process that had this one's number, too
  for (SharedProcess& process : file_.shared().processes) {
    if (process.pid != 0) continue;
    process = {};
    process.started = ownStart();
    process.pid = getpid();
    return process;
  }
  refuse(file_.name() + " is shared by more than " + std::to_string(kMostProcesses) + " processes");
}

/// Takes back what processes held that are no more.
void Machine::reclaim() {
  for (SharedProcess& process : file_.shared().processes) {
    if (process.pid != 0 && startOf(process.pid) != process.started) process = {};
  }
}

uint64_t Machine::used(unsigned card) const {
  uint64_t bytes = 0;
  for (const SharedProcess& process : file_.shared().processes) {
    if (process.pid != 0) bytes += process.bytes[card];  // else what a kill left in the middle of reclaim()
  }
  return bytes;
}

}  // namespace nullgpu
