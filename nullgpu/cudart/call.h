#pragma once

// What functions of the runtime share: what each does around its own work, and what a card is.

#include <cuda_runtime_api.h>

#include <type_traits>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/health.h"

namespace nullgpu {

/// Becomes the thread's last error, if it is one. @returns it.
cudaError_t remember(cudaError_t error);

/// A call that needs a card in good health.
template <typename Body>
cudaError_t call(const char* name, Body&& body) {
  const CallScope scope(name);
  const cudaError_t error = health();
  return remember(error ? error : body());
}

/// A call that only tells what there is, also after a sticky error.
template <typename Body>
cudaError_t ask(const char* name, Body&& body) {
  const CallScope scope(name);
  const cudaError_t error = presence();
  return remember(error ? error : body());
}

/// An answer into the place that the caller names.
template <typename Value>
cudaError_t give(Value* place, const std::type_identity_t<Value>& value) {
  if (!place) return cudaErrorInvalidValue;
  *place = value;
  return cudaSuccess;
}

/// Of one of the visible cards. The sizes are those of NVIDIA's cards of that compute capability.
cudaDeviceProp propertiesOf(unsigned card);

}  // namespace nullgpu

/// Functions of the runtime that are one such call: its name, its parameters and its answer.
#define NULLGPU_CALL(name, parameters, ...)                                      \
  cudaError_t name parameters {                                                  \
    return ::nullgpu::call(#name, [&]() -> cudaError_t { return __VA_ARGS__; }); \
  }
#define NULLGPU_ASK(name, parameters, ...)                                      \
  cudaError_t name parameters {                                                 \
    return ::nullgpu::ask(#name, [&]() -> cudaError_t { return __VA_ARGS__; }); \
  }
