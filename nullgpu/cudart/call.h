#pragma once

// What every function of the runtime does around its own work.

#include <cuda_runtime_api.h>

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

/// What the null GPU does not have, and says so.
inline cudaError_t unsupported(const char* name) {
  return call(name, [] { return cudaErrorNotSupported; });
}

}  // namespace nullgpu
