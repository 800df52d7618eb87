#include "nullgpu/core/machine.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/process.h"
#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

constexpr std::array<char, 8> kMark = {'n', 'u', 'l', 'l', 'g', 'p', 'u', '\0'};
constexpr uint32_t kVersion = 1;

/// The system's lock excludes processes and knows no threads. One for all files, since a process has one machine; a
/// fork takes it along, so that it is never held in a child by a thread that is not there.
std::mutex& threads() {
  static auto* const mutex = new std::mutex;
  static const int registered [[maybe_unused]] =
      pthread_atfork([] { threads().lock(); }, [] { threads().unlock(); }, [] { threads().unlock(); });
  return *mutex;
}

/// For the whole file, of the process (not of its forks), and released when it ends in whatever way.
bool setLock(int descriptor, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  int result = 0;
  do result = fcntl(descriptor, F_SETLKW, &lock);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

std::string text(const Description& description) {
  char buffer[128];
  std::snprintf(buffer, sizeof buffer, "%u cards of %llu bytes and capability %u.%u", description.cards,
                static_cast<unsigned long long>(description.memory), description.capability / 10,
                description.capability % 10);
  return buffer;
}

bool sane(const SharedMachine& machine) {
  const Description& description = machine.description;
  if (description.cards > kMostCards) return false;
  for (unsigned card = 0; card < description.cards; ++card) {
    uint64_t used = 0;
    for (const SharedProcess& process : machine.processes) {
      if (process.pid < 0 || process.bytes[card] > description.memory) return false;
      if (process.pid != 0) used += process.bytes[card];
    }
    if (used > description.memory) return false;
  }
  return true;
}

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

uint64_t sharedClock() {
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void Machine::lock() {
  threads().lock();
  if (!setLock(descriptor_, F_WRLCK)) refuse(name_ + " cannot be locked: " + std::strerror(errno));
}

void Machine::unlock() {
  setLock(descriptor_, F_UNLCK);
  threads().unlock();
}

Machine::Machine(const std::string& path, const Description& description)
    : name_(path.empty() ? "the state of the cards" : "NULLGPU_MACHINE=" + path) {
  if (description.cards > kMostCards)
    refuse("NULLGPU_CARDS=" + std::to_string(description.cards) + ": a machine has at most " +
           std::to_string(kMostCards));
  descriptor_ = path.empty() ? memfd_create("nullgpu-machine", MFD_CLOEXEC)
                             : open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) refuse(name_ + ": " + std::strerror(errno) + "; name a file that can be written, or none");
  const std::lock_guard held(*this);
  struct stat status{};
  fstat(descriptor_, &status);
  if (!S_ISREG(status.st_mode) || (status.st_size != 0 && status.st_size != sizeof(SharedMachine)))
    refuse(name_ + " is no file of null cards; name another, or remove it");
  if (status.st_size == 0 && ftruncate(descriptor_, sizeof(SharedMachine)) != 0)
    refuse(name_ + ": " + std::strerror(errno));
  void* memory = mmap(nullptr, sizeof(SharedMachine), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) refuse(name_ + " cannot be mapped: " + std::strerror(errno));
  shared_ = static_cast<SharedMachine*>(memory);
  // The mark comes last: without it the file is fresh, or whoever was about to make it was killed at that.
  if (shared_->mark == std::array<char, 8>{}) {
    shared_->description = description;
    shared_->born = sharedClock();
    shared_->version = kVersion;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // a kill in between leaves no mark over half a description
    shared_->mark = kMark;
  }
  check(description);
}

Machine::~Machine() {
  munmap(shared_, sizeof(SharedMachine));
  close(descriptor_);
}

void Machine::check(const Description& description) const {
  if (shared_->mark != kMark || shared_->version != kVersion || !sane(*shared_))
    refuse(name_ + " is no file of null cards, or is damaged; name another, or remove it");
  if (shared_->description != description) {
    refuse(name_ + " has " + text(shared_->description) + ", and this process is told " + text(description) +
           "; set NULLGPU_CARDS, NULLGPU_MEMORY and NULLGPU_CAPABILITY alike for all, or remove the file");
  }
}

CardState Machine::state(unsigned card) {
  CardState state;
  {
    const std::lock_guard held(*this);
    reclaim();
    for (const SharedProcess& process : shared_->processes) {
      if (process.opened >> card & 1) state.processes.push_back({process.pid, process.bytes[card]});
    }
    state.used = used(card);
  }
  const SharedCard& shared = at(card);
  const uint64_t time = sharedClock(), born = shared_->born;
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
  const uint64_t memory = shared_->description.memory;
  const std::lock_guard held(*this);
  SharedProcess& process = enter();
  process.opened |= uint64_t{1} << card;
  if (bytes > memory) return false;
  if (used(card) + bytes > memory) reclaim();
  if (used(card) + bytes > memory) return false;
  process.bytes[card] += bytes;
  return true;
}

void Machine::release(unsigned card, uint64_t bytes) {
  const std::lock_guard held(*this);
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

/// This process's entry; null before it reserved anything.
SharedProcess* Machine::own() {
  const int pid = getpid();
  auto& processes = shared_->processes;
  const auto found = std::ranges::find(processes, pid, &SharedProcess::pid);
  return found != processes.end() && found->started == ownStart() ? &*found : nullptr;
}

SharedProcess& Machine::enter() {
  if (SharedProcess* process = own()) return *process;
  reclaim();  // of a process that had this one's number, too
  for (SharedProcess& process : shared_->processes) {
    if (process.pid != 0) continue;
    process = {};
    process.started = ownStart();
    process.pid = getpid();
    return process;
  }
  refuse(name_ + " is shared by more than " + std::to_string(kMostProcesses) + " processes");
}

/// Takes back what processes held that are no more.
void Machine::reclaim() {
  for (SharedProcess& process : shared_->processes) {
    if (process.pid != 0 && startOf(process.pid) != process.started) process = {};
  }
}

uint64_t Machine::used(unsigned card) const {
  uint64_t bytes = 0;
  for (const SharedProcess& process : shared_->processes) {
    if (process.pid != 0) bytes += process.bytes[card];  // else what a kill left in the middle of reclaim()
  }
  return bytes;
}

/// Never destroyed: what is freed while the process ends still gives its bytes back.
Machine& machine() {
  static Machine& own = *[] {
    const Configuration& told = configuration();
    return new Machine(told.machine, {.memory = told.memory, .cards = told.cards, .capability = told.capability});
  }();
  return own;
}

}  // namespace nullgpu
