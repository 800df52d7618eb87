#include "nullgpu/cupti/clock.h"

#include <mutex>

#include "nullgpu/core/activity.h"

namespace nullgpu::cupti {
namespace {

struct Pair {
  uint64_t ours = 0, theirs = 0;
};

std::mutex mutex;
CUpti_TimestampCallbackFunc callers = nullptr;
Pair first;

Pair both() { return {now(), callers()}; }

}  // namespace

void setClock(CUpti_TimestampCallbackFunc clock) {
  const std::lock_guard lock(mutex);
  callers = clock;
  first = both();
}

uint64_t recordTime(uint64_t moment) {
  const std::lock_guard lock(mutex);
  if (!callers) return moment;
  const Pair last = both();
  if (last.ours <= first.ours) return first.theirs;
  const double pace = static_cast<double>(last.theirs - first.theirs) / static_cast<double>(last.ours - first.ours);
  // Behind the last: what is told has just happened, and over a short way the pace's error is small.
  const double back = static_cast<double>(static_cast<int64_t>(last.ours - moment)) * pace;
  return last.theirs - static_cast<uint64_t>(static_cast<int64_t>(back));
}

}  // namespace nullgpu::cupti
