#pragma once

// The profiler's buffers: it gives them when they are needed and gets them back with records.

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace nullgpu::cupti {

/// Whoever came before keeps no buffer: what is full goes to him first.
void setCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);

void addRecord(const void* record, size_t size);
/// A record behind those that are there. Without room for it, it is dropped and counted.
template <typename Record>
void add(const Record& record) {
  static_assert(sizeof(Record) % ACTIVITY_RECORD_ALIGNMENT == 0);
  addRecord(&record, sizeof record);
}

/// Hands over everything that is there, and returns once the profiler has it.
void flush();
/// How often a thread hands over what is full; 0: as soon as something is.
void setPeriod(uint32_t milliseconds);
/// Records that were dropped since this was last asked.
uint64_t takeDropped();

/// Where the record behind `record` begins in `filled` bytes of a buffer; the first one behind null.
CUptiResult nextRecord(uint8_t* buffer, size_t filled, CUpti_Activity** record);

}  // namespace nullgpu::cupti
