#pragma once

// The parts of cuDNN 9's binary interface that both files of this folder use: statuses and handles.

#include <driver_types.h>

#include <cstddef>
#include <string_view>

#include "nullgpu/core/stream.h"

namespace nullgpu::cudnn {

/// cudnnStatus_t, as far as it is used.
enum class Status : int {
  Success = 0,
  BadParameter = 2000,
  NullPointer = 2002,
  NotSupported = 3000,
  DeviceAllocationFailed = 4004,  // cuDNN 8 and before: ALLOC_FAILED
  ExecutionFailed = 5000,
};

/// The target of cudnnHandle_t.
struct Handle {
  cudaStream_t stream = nullptr;
};

/// Bytes of a reserve for the backward pass and of a workspace. Not 0, so that callers allocate it
/// as they do for cuDNN, whose sizes are not known.
inline constexpr size_t kReserve = 1024;

/// Launches a kernel in the handle's stream.
inline Status launch(Handle* handle, std::string_view name) {
  if (!handle) return Status::NullPointer;
  return nullgpu::launch(handle->stream, name) == cudaSuccess ? Status::Success : Status::ExecutionFailed;
}

/// Stores an answer where the caller wants it.
template <typename Value>
Status give(Value* place, Value value) {
  if (!place) return Status::NullPointer;
  *place = value;
  return Status::Success;
}

}  // namespace nullgpu::cudnn
