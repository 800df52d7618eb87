#include "nullgpu/cupti/buffers.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "nullgpu/core/process.h"

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

}  // namespace

void Buffers::setCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  flush();
  const std::lock_guard lock(mutex_);
  request_ = request;
  complete_ = complete;
  if (std::exchange(served_, true)) return;
  startThread([this] { serve(); });
}

void Buffers::add(const void* record, size_t size) {
  const std::lock_guard lock(mutex_);
  if (!fits(size)) renew();
  if (!fits(size)) {
    ++dropped_;
    return;
  }
  std::memcpy(current_.bytes + current_.filled, record, size);
  current_.filled += size;
  ++current_.records;
}

bool Buffers::fits(size_t size) const {
  if (!current_.bytes || current_.filled + size > current_.size) return false;
  return current_.most_records == 0 || current_.records < current_.most_records;
}

/// Another buffer takes the place of the current one, if the profiler gives one.
void Buffers::renew() {
  if (current_.bytes) {
    full_.push_back(std::exchange(current_, {}));
    wake_.notify_all();
  }
  if (!request_) return;
  request_(&current_.bytes, &current_.size, &current_.most_records);
  if (!current_.bytes) current_ = {};
}

/// Full buffers to the profiler, and the current one, too, where a `part` will do.
void Buffers::deliver(bool part) {
  const std::lock_guard delivery(delivery_);
  std::unique_lock lock(mutex_);
  if (part && current_.filled > 0) full_.push_back(std::exchange(current_, {}));
  const std::vector<Buffer> full = std::exchange(full_, {});
  const auto complete = complete_;
  lock.unlock();
  for (const Buffer& buffer : full) complete(nullptr, 0, buffer.bytes, buffer.size, buffer.filled);
}

void Buffers::flush() { deliver(true); }

void Buffers::setPeriod(uint32_t milliseconds) {
  const std::lock_guard lock(mutex_);
  period_ = milliseconds;
  wake_.notify_all();
}

/// Full buffers alone, with a period or without, as CUPTI promises: Kineto looks for records only while it has lent a
/// buffer that it has not got back.
void Buffers::serve() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (period_ == 0) {
      wake_.wait(lock, [this] { return !full_.empty() || period_ != 0; });
    } else {
      wake_.wait_for(lock, std::chrono::milliseconds(period_));
    }
    lock.unlock();
    deliver(false);
  }
}

CUptiResult nextRecord(uint8_t* buffer, size_t filled, CUpti_Activity** record) {
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

Buffers& buffers() {
  static Buffers& all = *new Buffers;
  return all;
}

}  // namespace nullgpu::cupti
