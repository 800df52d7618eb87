// The profiler's buffers: it gives them when they are needed and gets them back with records.

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

/// Of the kinds that are written here; 0 for others.
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

struct Buffer {
  uint8_t* bytes = nullptr;
  size_t size = 0, filled = 0, records = 0, most_records = 0;

  bool fits(size_t more) const {
    return bytes && filled + more <= size && (most_records == 0 || records < most_records);
  }
};

/// Never destroyed: the thread that serves them ends with the process.
struct Buffers {
  std::mutex mutex;  // of all below
  Buffer current;
  std::vector<Buffer> full;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  uint32_t period = 0;
  bool served = false;  // by a thread
  std::condition_variable wake;
  std::mutex delivery;  // held while buffers are handed over; never taken under the other
  std::atomic<uint64_t> dropped{0};
};
Buffers& all = *new Buffers;

/// Another buffer takes the place of the current one, if the profiler gives one.
void renew() {
  if (all.current.bytes) {
    all.full.push_back(std::exchange(all.current, {}));
    all.wake.notify_all();
  }
  if (!all.request) return;
  all.request(&all.current.bytes, &all.current.size, &all.current.most_records);
  if (!all.current.bytes) all.current = {};
}

/// Full buffers to the profiler, and the current one, too, where a `part` will do.
void deliver(bool part) {
  const std::lock_guard delivery(all.delivery);
  std::unique_lock lock(all.mutex);
  if (part && all.current.filled > 0) all.full.push_back(std::exchange(all.current, {}));
  const std::vector<Buffer> full = std::exchange(all.full, {});
  const auto complete = all.complete;
  lock.unlock();
  for (const Buffer& buffer : full) complete(nullptr, 0, buffer.bytes, buffer.size, buffer.filled);
}

/// Full buffers alone, with a period or without, as CUPTI promises: Kineto looks for records only while it has lent a
/// buffer that it has not got back.
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

/// Whoever came before keeps no buffer: what is full goes to him first.
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
  flush();
  const std::lock_guard lock(all.mutex);
  all.request = request;
  all.complete = complete;
  if (!std::exchange(all.served, true)) nullgpu::startThread(serve);
  return CUPTI_SUCCESS;
}

/// Only what is done is recorded, so that a flush by force is no other.
CUptiResult cuptiActivityFlushAll(uint32_t) {
  flush();
  return CUPTI_SUCCESS;
}
/// How often a thread hands over what is full; 0: as soon as something is.
CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds) {
  const std::lock_guard lock(all.mutex);
  all.period = milliseconds;
  all.wake.notify_all();
  return CUPTI_SUCCESS;
}

/// The record behind `*record` in `filled` bytes of a buffer; the first one behind null.
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

/// Since this was last asked.
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return dropped ? give(dropped, all.dropped.exchange(0)) : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
