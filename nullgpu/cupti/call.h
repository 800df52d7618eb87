#pragma once

// The parts that CUPTI's files share: answers, CUPTI's numbers of CUDA's functions, and the writing
// of records.

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace nullgpu::cupti {

/// Stores an answer where the caller wants it.
template <typename Value>
CUptiResult give(Value* place, const std::type_identity_t<Value>& value) {
  if (!place) return CUPTI_ERROR_INVALID_PARAMETER;
  *place = value;
  return CUPTI_SUCCESS;
}

/// Whether a tool can use CUPTI now. @returns CUPTI_ERROR_NOT_INITIALIZED without a card, and
/// CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED if another tool holds it, which the fault `cupti`
/// simulates
CUptiResult availability();

/// CUPTI's number of a function, in the runtime's or the driver's domain.
struct Callback {
  CUpti_CallbackDomain domain;
  uint32_t number;
};
/// The number of a function by its name in a call, such as "cudaMemcpyAsync"; nothing if CUPTI has
/// none for it.
std::optional<Callback> callbackOf(std::string_view function);

/// Turns all records off.
void disableAll();

/// Appends a record. If there is no room it is dropped and counted. Thread-safe.
void addRecord(const void* record, size_t size);
/// Appends a record of a checked size: profilers step through a buffer by these sizes.
template <typename Record>
void add(const Record& record) {
  static_assert(sizeof(Record) % ACTIVITY_RECORD_ALIGNMENT == 0);
  addRecord(&record, sizeof record);
}

/// Returns everything recorded so far to the profiler, before it returns itself.
void flush();

}  // namespace nullgpu::cupti
