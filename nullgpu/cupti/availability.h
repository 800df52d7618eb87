#pragma once

#include <cupti.h>

#include <type_traits>

namespace nullgpu::cupti {

/// CUPTI_ERROR_NOT_INITIALIZED without a card, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED where another tool is
/// there first, which the fault `cupti` asks for.
CUptiResult availability();

/// An answer into the place that the caller names.
template <typename Value>
CUptiResult give(Value* place, const std::type_identity_t<Value>& value) {
  if (!place) return CUPTI_ERROR_INVALID_PARAMETER;
  *place = value;
  return CUPTI_SUCCESS;
}

}  // namespace nullgpu::cupti
