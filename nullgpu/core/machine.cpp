// The file behind a machine's cards. Correctness rests on three points: a lock that dies with its
// holder (fcntl), entries named by pid and start time so that a reused pid inherits nothing, and a
// mark written last so that a half-made file is made again. Power, clocks and temperature are
// derived from the share of recent time in which a card worked; they are plausible, not measured.

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
#include "nullgpu/core/record.h"
#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

constexpr std::array<char, 8> kMark = {'n', 'u', 'l', 'l', 'g', 'p', 'u', '\0'};
constexpr uint32_t kVersion = 1;

/// The mutex of this process's threads, since the system's lock excludes only processes. One serves
/// all files because a process has one machine. A fork takes it along, so that a child never
/// inherits it from a thread that does not exist there.
std::mutex& threads() {
  static auto* const mutex = new std::mutex;
  static const int registered [[maybe_unused]] =
      pthread_atfork([] { threads().lock(); }, [] { threads().unlock(); }, [] { threads().unlock(); });
  return *mutex;
}

/// Sets or releases the lock of the whole file. It belongs to the process, not to its forks, and is
/// released however the process ends. @returns false on an error, which `errno` names
bool setLock(int descriptor, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  int result = 0;
  do result = fcntl(descriptor, F_SETLKW, &lock);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

/// The description in words, for messages.
std::string text(const Description& description) {
  char buffer[128];
  std::snprintf(buffer, sizeof buffer, "%u cards of %llu bytes and capability %u.%u", description.cards,
                static_cast<unsigned long long>(description.memory), description.capability / 10,
                description.capability % 10);
  return buffer;
}

/// Whether the content can be trusted as far as later code relies on it: no index out of range, no
/// overflow.
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

// Power, clocks and temperature of a null card: an H200's, in round figures.
constexpr uint64_t kIdleWatts = 60, kWorkWatts = 440;
constexpr unsigned kIdleClock = 345, kThrottledClock = 1200;  // MHz
constexpr unsigned kIdleCelsius = 32, kWorkCelsius = 33;
constexpr uint64_t kGpuIdle = 1;  // NVML's bit: reduced clocks because nothing runs

constexpr uint64_t kMeanOver = 4;  // slices to average over, including the current one

/// The share of the last slices, 150 to 200 ms, in which the card worked; 0 to 1.
double utilisation(const SharedCard& card, uint64_t time) {
  const uint64_t slice = time / kSliceNanoseconds;
  uint64_t worked = 0;
  for (const auto& packed : card.slices) {
    const uint64_t value = packed.load(std::memory_order_relaxed);
    // Slice numbers are compared in 32 bits, as they are stored.
    if ((value >> 32) + kMeanOver > (slice & UINT32_MAX)) worked += value & UINT32_MAX;
  }
  const uint64_t span = (kMeanOver - 1) * kSliceNanoseconds + time % kSliceNanoseconds;
  return std::min(1.0, double(worked) / double(span));
}

/// Adds work to a slice. A slot that still holds an older slice starts anew.
void addToSlice(SharedCard& card, uint64_t slice, uint64_t nanoseconds) {
  auto& packed = card.slices[slice % kSlices];
  const uint64_t number = slice & UINT32_MAX;
  // Retry until no other thread or process changed the slot in between.
  uint64_t before = packed.load(std::memory_order_relaxed), after = 0;
  do after = (before >> 32) == number ? before + nanoseconds : (number << 32) + nanoseconds;
  while (!packed.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

/// The start time of this process. Called under the machine's lock, which protects the cache.
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
  return uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void Machine::lock() {
  threads().lock();
  // The system's lock would let another thread of this process through, so the mutex comes first.
  if (!setLock(descriptor_, F_WRLCK)) refuse(name_, " cannot be locked: ", std::strerror(errno));
}

void Machine::unlock() {
  setLock(descriptor_, F_UNLCK);
  threads().unlock();
}

Machine::Machine(const std::string& path, const Description& description)
    : name_(path.empty() ? "the state of the cards" : "NULLGPU_MACHINE=" + path) {
  if (description.cards > kMostCards)
    refuse("NULLGPU_CARDS=", description.cards, ": a machine has at most ", kMostCards);
  descriptor_ = path.empty() ? memfd_create("nullgpu-machine", MFD_CLOEXEC)
                             : open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) refuse(name_, ": ", std::strerror(errno), "; name a file that can be written, or none");
  // From here on others that open the same file wait. Size and mark are looked at only under the
  // lock, so two processes cannot both find the file empty.
  const std::lock_guard held(*this);
  struct stat status{};
  fstat(descriptor_, &status);
  if (!S_ISREG(status.st_mode) || (status.st_size != 0 && status.st_size != sizeof(SharedMachine)))
    refuse(name_, " is no file of null cards; name another, or remove it");
  if (status.st_size == 0 && ftruncate(descriptor_, sizeof(SharedMachine)) != 0)
    refuse(name_, ": ", std::strerror(errno));
  void* memory = mmap(nullptr, sizeof(SharedMachine), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) refuse(name_, " cannot be mapped: ", std::strerror(errno));
  shared_ = static_cast<SharedMachine*>(memory);
  // A file without the mark is new, or its maker was killed before it finished. Write the mark
  // last.
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
    refuse(name_, " is no file of null cards, or is damaged; name another, or remove it");
  if (shared_->description != description) {
    refuse(name_, " has ", text(shared_->description), ", and this process is told ", text(description),
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
  const uint64_t age = time > born ? time - born : 0;  // the machine may have restarted since the file was made
  const double working = utilisation(shared, time);
  // Divide before multiplying: nanoseconds times watts would overflow after about a year of work.
  state.millijoules = (kIdleWatts * (age / 1000) + kWorkWatts * (shared.busy / 1000)) / 1000;
  state.milliwatts = unsigned(1000.0 * (kIdleWatts + kWorkWatts * working));
  state.celsius = unsigned(kIdleCelsius + kWorkCelsius * working);
  state.clock_mhz = working > 0 ? kWorkClock : kIdleClock;
  state.memory_clock_mhz = kMemoryClock;
  state.throttle = throttleAsked(card);
  // An idle card has low clocks of its own; a reason to throttle shows only while it works.
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
  // Entries of dead processes are looked for only when memory is short, since that reads /proc for
  // each.
  if (bytes > memory) return false;
  if (used(card) + bytes > memory) reclaim();
  if (used(card) + bytes > memory) return false;
  process.bytes[card] += bytes;
  recordHeld(card, process.bytes[card]);
  return true;
}

void Machine::release(unsigned card, uint64_t bytes) {
  const std::lock_guard held(*this);
  // A fork has no entry, so it returns nothing of its parent's.
  if (SharedProcess* process = own()) process->bytes[card] -= std::min(bytes, process->bytes[card]);
}

void Machine::worked(unsigned card, uint64_t nanoseconds) {
  SharedCard& shared = at(card);
  const uint64_t end = sharedClock();
  // Work of other streams or processes up to `busy_until` is already counted: a card cannot draw
  // more than its full power. The exchange claims the time from there to `end` for us, or starts
  // over if another was first.
  uint64_t until = shared.busy_until.load(std::memory_order_relaxed);
  uint64_t begin = 0;
  do {
    begin = std::max(end - std::min(nanoseconds, end), until);
    if (begin >= end) return;
  } while (!shared.busy_until.compare_exchange_weak(until, end, std::memory_order_relaxed));
  shared.busy.fetch_add(end - begin, std::memory_order_relaxed);
  // Spread the time over the slices that it touches; older ones than the table holds are lost
  // anyway.
  const uint64_t last = end / kSliceNanoseconds;
  for (uint64_t slice = std::max(begin / kSliceNanoseconds, last - std::min<uint64_t>(last, kSlices - 1));
       slice <= last; ++slice) {
    const uint64_t from = std::max(begin, slice * kSliceNanoseconds);
    addToSlice(shared, slice, std::min(end, (slice + 1) * kSliceNanoseconds) - from);
  }
}

/// The start time tells this process from an earlier one with its pid.
SharedProcess* Machine::own() {
  const int pid = getpid();
  auto& processes = shared_->processes;
  const auto found = std::ranges::find(processes, pid, &SharedProcess::pid);
  return found != processes.end() && found->started == ownStart() ? &*found : nullptr;
}

SharedProcess& Machine::enter() {
  if (SharedProcess* process = own()) return *process;
  reclaim();  // also frees an entry of an earlier process with this pid
  for (SharedProcess& process : shared_->processes) {
    if (process.pid != 0) continue;
    // The pid is written last, since it makes the entry valid; a kill in between leaves the entry
    // free.
    process = {};
    process.started = ownStart();
    process.pid = getpid();
    return process;
  }
  refuse(name_, " is shared by more than ", kMostProcesses, " processes");
}

/// A pid that is reused has another start time, and a zombie has none.
void Machine::reclaim() {
  for (SharedProcess& process : shared_->processes) {
    if (process.pid != 0 && startOf(process.pid) != process.started) process = {};
  }
}

uint64_t Machine::used(unsigned card) const {
  uint64_t bytes = 0;
  for (const SharedProcess& process : shared_->processes) {
    // An entry without a pid may hold bytes if a kill interrupted reclaim().
    if (process.pid != 0) bytes += process.bytes[card];
  }
  return bytes;
}

/// Never destroyed: memory that is freed while the process ends still has to be returned.
Machine& machine() {
  static Machine& own = *[] {
    const Configuration& told = configuration();
    return new Machine(told.machine, {.memory = told.memory, .cards = told.cards, .capability = told.capability});
  }();
  return own;
}

}  // namespace nullgpu
