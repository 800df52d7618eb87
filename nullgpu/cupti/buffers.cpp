// The profiler's buffers. CUPTI asks the profiler for an empty buffer when it has a record to
// write, fills it, and returns it when it is full or flushed. A thread returns full buffers,
// because a profiler such as Kineto waits for them without calling anything.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "nullgpu/core/process.h"
#include "nullgpu/cupti/call.h"

namespace nullgpu::cupti {
namespace {

/// The size of a record of a kind written here; 0 for other kinds.
size_t sizeOf(CUpti_ActivityKind kind) {
  static constexpr std::pair<CUpti_ActivityKind, size_t> kSizes[] = {
      {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI)},
      {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI)},
      {CUPTI_ACTIVITY_KIND_KERNEL, sizeof(CUpti_ActivityKernel10)},
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
      {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
      {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)},
      {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)},
      {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(CUpti_ActivityExternalCorrelation)},
  };
  for (const auto& [known, size] : kSizes)
    if (known == kind) return size;
  return 0;
}

/// A buffer lent by the profiler.
struct Buffer {
  uint8_t* bytes = nullptr;
  /// `most_records` is the profiler's limit; 0 means as many as fit.
  size_t size = 0, filled = 0, records = 0, most_records = 0;

  bool fits(size_t more) const {
    return bytes && filled + more <= size && (most_records == 0 || records < most_records);
  }
};

/// Never destroyed, because the thread that returns buffers runs until the process ends.
struct Buffers {
  std::mutex mutex;  // protects all members but `delivery` and `dropped`
  /// The buffer being filled, if any.
  Buffer current;
  /// Full buffers that were not returned yet.
  std::vector<Buffer> full;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  /// Milliseconds between deliveries; 0 means as soon as a buffer is full.
  uint32_t period = 0;
  bool served = false;  // the thread has been started
  std::condition_variable wake;
  /// Held while buffers are returned, so that a flush returns after the delivery under way. Always
  /// taken before `mutex`.
  std::mutex delivery;
  /// Records without room since the last question.
  std::atomic<uint64_t> dropped{0};
};
Buffers& all = *new Buffers;

/// Asks the profiler for a buffer in place of the current one. There may be none. Called under
/// `mutex`.
void renew() {
  if (all.current.bytes) {
    all.full.push_back(std::exchange(all.current, {}));
    all.wake.notify_all();
  }
  if (!all.request) return;
  all.request(&all.current.bytes, &all.current.size, &all.current.most_records);
  if (!all.current.bytes) all.current = {};
}

/// Returns the full buffers to the profiler, and with `part` the one being filled, too. The
/// callback runs without `mutex`, since it may call back.
void deliver(bool part) {
  const std::lock_guard delivery(all.delivery);
  std::unique_lock lock(all.mutex);
  if (part && all.current.filled > 0) all.full.push_back(std::exchange(all.current, {}));
  const std::vector<Buffer> full = std::exchange(all.full, {});
  const auto complete = all.complete;
  lock.unlock();
  for (const Buffer& buffer : full) complete(nullptr, 0, buffer.bytes, buffer.size, buffer.filled);
}

/// The thread that returns full buffers, at once or each period. CUPTI promises that a full buffer
/// comes back by itself: Kineto looks for records only while it has lent a buffer that it has not
/// got back.
[[noreturn]] void serve() {
  for (;;) {
    std::unique_lock lock(all.mutex);
    if (all.period == 0) {
      all.wake.wait(lock, [] { return !all.full.empty() || all.period != 0; });
    } else {
      all.wake.wait_for(lock, std::chrono::milliseconds(all.period));
    }
    lock.unlock();
    deliver(false);
  }
}

}  // namespace

void addRecord(const void* record, size_t size) {
  const std::lock_guard lock(all.mutex);
  // The profiler may refuse a buffer or give one that is too small; then the record is lost and
  // counted.
  if (!all.current.fits(size)) renew();
  if (!all.current.fits(size)) {
    ++all.dropped;
    return;
  }
  std::memcpy(all.current.bytes + all.current.filled, record, size);
  all.current.filled += size;
  ++all.current.records;
}

void flush() { deliver(true); }

}  // namespace nullgpu::cupti

using namespace nullgpu::cupti;

extern "C" {

/// Full buffers belong to the previous profiler and are returned to it first.
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
  flush();
  const std::lock_guard lock(all.mutex);
  all.request = request;
  all.complete = complete;
  // The thread starts with the first profiler, so that other programs do not get one.
  if (!std::exchange(all.served, true)) nullgpu::startThread(serve);
  return CUPTI_SUCCESS;
}

/// Records are written when work is done, so a forced flush finds no more than an ordinary one.
CUptiResult cuptiActivityFlushAll(uint32_t) {
  flush();
  return CUPTI_SUCCESS;
}
/// Sets how often full buffers are returned; 0 means as soon as one is full.
CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds) {
  const std::lock_guard lock(all.mutex);
  all.period = milliseconds;
  all.wake.notify_all();
  return CUPTI_SUCCESS;
}

/// The record after `*record` in `filled` bytes of a buffer; the first one if it is null.
/// @returns CUPTI_ERROR_MAX_LIMIT_REACHED after the last
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t filled, CUpti_Activity** record) {
  if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
  uint8_t* next = buffer;
  if (*record) {
    const size_t size = sizeOf((*record)->kind);
    if (size == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<uint8_t*>(*record) + size;
  }
  if (next >= buffer + filled) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

/// The number of dropped records since the last call.
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return dropped ? give(dropped, all.dropped.exchange(0)) : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
