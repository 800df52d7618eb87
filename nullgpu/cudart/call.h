#pragma once

// The frame of every function of the runtime. A function of CUDA checks the process's health, does
// its work, and leaves its error as the thread's last error; profilers see its name and times.
// call() and ask() do all of that, so each function in this folder is one expression.

#include <cuda_runtime_api.h>

#include <type_traits>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/health.h"

namespace nullgpu {

/// Makes an error the thread's last error, for cudaGetLastError(). @returns `error`
cudaError_t remember(cudaError_t error);

/// Runs `body` as a call that needs usable cards: a sticky error is the answer instead. `name` is
/// that of the function and must have static storage.
template <typename Body>
cudaError_t call(const char* name, Body&& body) {
  const CallScope scope(name);
  const cudaError_t error = health();
  return remember(error ? error : body());
}

/// Runs `body` as a call that only asks what there is, which CUDA answers even after a sticky
/// error.
template <typename Body>
cudaError_t ask(const char* name, Body&& body) {
  const CallScope scope(name);
  const cudaError_t error = presence();
  return remember(error ? error : body());
}

/// Stores an answer where the caller wants it. @returns cudaErrorInvalidValue for null
template <typename Value>
cudaError_t give(Value* place, const std::type_identity_t<Value>& value) {
  if (!place) return cudaErrorInvalidValue;
  *place = value;
  return cudaSuccess;
}

/// The properties of a visible card, by the process's number. Sizes are those of NVIDIA's GPUs of
/// that compute capability.
cudaDeviceProp propertiesOf(unsigned card);

}  // namespace nullgpu

/// Defines a function of the runtime as one call() or ask(): its name, its parameters, and its
/// answer.
#define NULLGPU_CALL(name, parameters, ...)                                      \
  cudaError_t name parameters {                                                  \
    return ::nullgpu::call(#name, [&]() -> cudaError_t { return __VA_ARGS__; }); \
  }
#define NULLGPU_ASK(name, parameters, ...)                                      \
  cudaError_t name parameters {                                                 \
    return ::nullgpu::ask(#name, [&]() -> cudaError_t { return __VA_ARGS__; }); \
  }
