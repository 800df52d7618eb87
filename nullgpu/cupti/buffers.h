#pragma once

// The profiler's buffers: it gives them when they are needed and gets them back with records.

#include <cupti.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace nullgpu::cupti {

class Buffers {
 public:
  /// Whoever came before keeps no buffer: what is full goes to him first.
  void setCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);

  /// A record behind those that are there. Without room for it, it is dropped and counted.
  template <typename Record>
  void add(const Record& record) {
    static_assert(sizeof(Record) % ACTIVITY_RECORD_ALIGNMENT == 0);
    add(&record, sizeof record);
  }

  /// Hands over everything that is there, and returns once the profiler has it.
  void flush();
  /// How often a thread hands over what is full; 0: as soon as something is.
  void setPeriod(uint32_t milliseconds);
  /// Records that were dropped since this was last asked.
  uint64_t takeDropped() { return dropped_.exchange(0); }

 private:
  struct Buffer {
    uint8_t* bytes = nullptr;
    size_t size = 0, filled = 0, records = 0, most_records = 0;
  };

  void add(const void* record, size_t size);
  bool fits(size_t size) const;
  void renew();
  void deliver(bool part);
  void serve();

  std::mutex mutex_;  // of all below
  Buffer current_;
  std::vector<Buffer> full_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  uint32_t period_ = 0;
  bool served_ = false;  // by a thread
  std::condition_variable wake_;
  std::mutex delivery_;  // held while buffers are handed over; never taken under mutex_
  std::atomic<uint64_t> dropped_{0};
};

/// Where the record behind `record` begins in `filled` bytes of a buffer; the first one behind null.
CUptiResult nextRecord(uint8_t* buffer, size_t filled, CUpti_Activity** record);

/// The process's. Never destroyed: its thread ends with the process.
Buffers& buffers();

}  // namespace nullgpu::cupti
