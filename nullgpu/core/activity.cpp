// Counting of a process's work in its record, and the hand-over of reports to the one listener.
// Launches and copies come at a high rate and are counted with relaxed atomics; collectives are few
// and are counted under a mutex. A report costs one relaxed load when nobody listens.

#include "nullgpu/core/activity.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <shared_mutex>

#include "nullgpu/core/python.h"
#include "nullgpu/core/record.h"

namespace nullgpu {
namespace {

std::shared_mutex mutex;  // held shared while a listener is called, exclusively while it is replaced
std::atomic<Listener*> listener{nullptr};
std::atomic<uint32_t> correlations{0};
thread_local CallScope* innermost = nullptr;

std::mutex collectives;  // protects the record's collectives, which are rare beside launches

template <typename Clock>
int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

template <typename Event>
void tellListener(const Event& event) {
  // The first load is a hint only, so that a process without a profiler takes no lock. The second,
  // under the lock, decides: listen() cannot return, nor its caller destroy the old listener,
  // before we are done.
  if (!listener.load(std::memory_order_relaxed)) return;
  const std::shared_lock lock(mutex);
  if (Listener* told = listener.load()) told->happened(event);
}

uint32_t threadNumber() {
  thread_local const auto number = uint32_t(gettid());
  return number;
}

}  // namespace

/// CUPTI's timestamps count from the epoch and run steadily. The offset between both clocks is
/// therefore taken once; later corrections of the system's clock do not show.
uint64_t now() {
  static const int64_t offset = nanoseconds<std::chrono::system_clock>() - nanoseconds<std::chrono::steady_clock>();
  return uint64_t(nanoseconds<std::chrono::steady_clock>() + offset);
}

void listen(Listener* other) {
  const std::unique_lock lock(mutex);
  listener = other;
}

void tell(const Activity& activity) {
  if (activity.work == Work::Kernel) {
    add(record().launches);
  } else {
    nullgpu_traffic& copies = record().copies[size_t(activity.work)];
    add(copies.calls);
    add(copies.bytes, activity.bytes);
  }
  tellListener(activity);
}

void countAllocation() {
  add(record().allocations);
  askPython();
}

Wait::Wait() : begin_(now()) { add(record().synchronizations); }
Wait::~Wait() {
  const uint64_t waited = now() - begin_;
  add(record().waited, waited);
  placeWait(waited);
}

void countCollective(std::string_view name, uint64_t bytes) {
  const std::lock_guard lock(collectives);
  for (auto& [own, calls, all_bytes] : record().collectives) {
    if (own[0] == '\0') name.copy(own, sizeof own - 1);
    if (name != own) continue;
    ++calls;
    all_bytes += bytes;
    return;
  }
}

CallScope::CallScope(const char* name) : outer_(innermost) {
  call_.name = name;
  call_.correlation = correlations.fetch_add(1, std::memory_order_relaxed) + 1;
  call_.thread = threadNumber();
  call_.begin = now();
  innermost = this;
}

CallScope::~CallScope() {
  innermost = outer_;
  call_.end = now();
  tellListener(call_);
}

uint32_t currentCorrelation() { return innermost ? innermost->call_.correlation : 0; }

nullgpu_counts counters() {
  const nullgpu_record& own = record();
  const auto of = [&](Work work) {
    const nullgpu_traffic& copies = own.copies[size_t(work)];
    return nullgpu_traffic{valueOf(copies.calls), valueOf(copies.bytes)};
  };
  nullgpu_counts result{sizeof result,
                        valueOf(own.launches),
                        valueOf(own.allocations),
                        valueOf(own.synchronizations),
                        of(Work::HostToDevice),
                        of(Work::DeviceToHost),
                        of(Work::DeviceToDevice),
                        of(Work::PeerToPeer),
                        of(Work::Set),
                        {}};
  const std::lock_guard lock(collectives);
  nullgpu_collective* next = result.collectives;
  // The record outlives all users of the names. An entry without a name ends the list.
  for (const auto& [name, calls, bytes] : own.collectives)
    if (name[0] != '\0') *next++ = {name, calls, bytes};
  std::ranges::sort(std::begin(result.collectives), next, {},
                    [](const nullgpu_collective& one) { return std::string_view(one.name); });
  return result;
}

void reportIfAsked() {
  const char* wish = std::getenv("NULLGPU_REPORT");
  if (!wish || std::string_view(wish) != "1") return;
  const nullgpu_counts all = counters();
  uint64_t together = 0;
  for (const nullgpu_collective& each : all.collectives) together += each.calls;
  std::fprintf(
      stderr,
      "nullgpu: process %d: %lu launches, %lu allocations, %lu collectives; copies (bytes): to cards %lu (%lu), "
      "from cards %lu (%lu), within %lu (%lu), between %lu (%lu), sets %lu (%lu); the host waited %lu times\n",
      int(getpid()), all.launches, all.allocations, together, all.to_card.calls, all.to_card.bytes, all.from_card.calls,
      all.from_card.bytes, all.within_card.calls, all.within_card.bytes, all.between_cards.calls,
      all.between_cards.bytes, all.sets.calls, all.sets.bytes, all.synchronizations);
}

}  // namespace nullgpu

int nullgpu_counters(struct nullgpu_counts* counters) {
  // The caller may be built against an older or newer struct. Its `size` says how much it can hold;
  // a size without room for one count besides itself is an error. We copy the common part.
  if (!counters || counters->size < 2 * sizeof(counters->size)) return -1;
  nullgpu_counts own = nullgpu::counters();
  own.size = std::min<uint64_t>(counters->size, sizeof own);
  std::memcpy(counters, &own, own.size);
  return 0;
}
