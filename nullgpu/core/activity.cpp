#include "nullgpu/core/activity.h"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace nullgpu {
namespace {

std::shared_mutex mutex;  // shared while a listener is told
std::atomic<Listener*> listener{nullptr};
std::atomic<uint32_t> correlations{0};
thread_local CallScope* innermost = nullptr;

struct {
  std::atomic<uint64_t> launches{0}, allocations{0}, synchronizations{0};
  std::atomic<uint64_t> copies[6]{}, bytes[6]{};
} counts;

/// Few, next to launches.
struct {
  std::mutex mutex;
  std::map<std::string_view, Traffic> by_name;
} collectives;

void add(std::atomic<uint64_t>& to, uint64_t amount = 1) { to.fetch_add(amount, std::memory_order_relaxed); }

template <typename Event>
void tellListener(const Event& event) {
  if (!listener.load(std::memory_order_relaxed)) return;
  const std::shared_lock lock(mutex);
  if (Listener* told = listener.load()) told->happened(event);
}

uint32_t threadNumber() {
  thread_local const auto number = uint32_t(gettid());
  return number;
}

}  // namespace

void listen(Listener* other) {
  const std::unique_lock lock(mutex);
  listener = other;
}

void tell(const Activity& activity) {
  if (activity.work == Work::Kernel) {
    add(counts.launches);
  } else {
    add(counts.copies[size_t(activity.work)]);
    add(counts.bytes[size_t(activity.work)], activity.bytes);
  }
  tellListener(activity);
}

void countAllocation() { add(counts.allocations); }
void countSynchronization() { add(counts.synchronizations); }

void countCollective(std::string_view name, uint64_t bytes) {
  const std::lock_guard lock(collectives.mutex);
  Traffic& traffic = collectives.by_name[name];
  ++traffic.calls;
  traffic.bytes += bytes;
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

Counters counters() {
  Counters result{counts.launches, counts.allocations, counts.synchronizations};
  for (size_t work = 0; work < std::size(result.copies); ++work)
    result.copies[work] = {counts.copies[work], counts.bytes[work]};
  const std::lock_guard lock(collectives.mutex);
  result.collectives = collectives.by_name;
  return result;
}

}  // namespace nullgpu
