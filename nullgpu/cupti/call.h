#pragma once

// What CUPTI's functions share: how they answer, the functions of CUDA by CUPTI's numbers, and the records that are
// written.

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace nullgpu::cupti {

/// An answer into the place that the caller names.
template <typename Value>
CUptiResult give(Value* place, const std::type_identity_t<Value>& value) {
  if (!place) return CUPTI_ERROR_INVALID_PARAMETER;
  *place = value;
  return CUPTI_SUCCESS;
}

/// CUPTI_ERROR_NOT_INITIALIZED without a card, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED where another tool is
/// there first, which the fault `cupti` asks for.
CUptiResult availability();

/// A function and CUPTI's number of it.
struct Callback {
  CUpti_CallbackDomain domain;
  uint32_t number;
};
/// Of a runtime's or driver's function as it is called, "cudaMemcpyAsync"; nothing for a function that CUPTI does not
/// number.
std::optional<Callback> callbackOf(std::string_view function);

/// Nothing is recorded from here on.
void disableAll();

void addRecord(const void* record, size_t size);
/// A record behind those that are there. Without room for it, it is dropped and counted.
template <typename Record>
void add(const Record& record) {
  static_assert(sizeof(Record) % ACTIVITY_RECORD_ALIGNMENT == 0);
  addRecord(&record, sizeof record);
}

/// Hands over everything that is there, and returns once the profiler has it.
void flush();

}  // namespace nullgpu::cupti
