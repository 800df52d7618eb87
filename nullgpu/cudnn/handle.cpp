// Handles, versions and the names of statuses.

#include <cstdio>
#include <utility>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudnn/abi.h"

using nullgpu::cudnn::Handle;
using nullgpu::cudnn::Status;

extern "C" {

// MAJOR * 10000 + MINOR * 100 + PATCH. torch chooses by it between cuDNN's attention and others.
size_t cudnnGetVersion() { return NULLGPU_CUDNN_VERSION; }
size_t cudnnGetCudartVersion() { return 13000; }

const char* cudnnGetErrorString(Status status) {
  static constexpr std::pair<Status, const char*> kNames[] = {
      {Status::Success, "CUDNN_STATUS_SUCCESS"},
      {Status::BadParameter, "CUDNN_STATUS_BAD_PARAM"},
      {Status::NullPointer, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"},
      {Status::NotSupported, "CUDNN_STATUS_NOT_SUPPORTED"},
      {Status::DeviceAllocationFailed, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"},
      {Status::ExecutionFailed, "CUDNN_STATUS_EXECUTION_FAILED"},
  };
  for (const auto& [known, name] : kNames)
    if (known == status) return name;
  return "CUDNN_STATUS_INTERNAL_ERROR";
}

void cudnnGetLastErrorString(char* message, size_t size) {
  if (message != nullptr && size > 0) std::snprintf(message, size, "the null GPU says no more than the status");
}

Status cudnnCreate(Handle** handle) {
  if (handle == nullptr) return Status::NullPointer;
  if (nullgpu::configuration().faults.cudnn) return Status::DeviceAllocationFailed;
  if (nullgpu::health() != cudaSuccess) return Status::ExecutionFailed;
  *handle = new Handle;
  return Status::Success;
}

Status cudnnDestroy(Handle* handle) {
  delete handle;
  return Status::Success;
}

Status cudnnSetStream(Handle* handle, cudaStream_t stream) {
  if (handle == nullptr) return Status::NullPointer;
  handle->stream = stream;
  return Status::Success;
}

Status cudnnGetStream(Handle* handle, cudaStream_t* stream) {
  if (handle == nullptr || stream == nullptr) return Status::NullPointer;
  *stream = handle->stream;
  return Status::Success;
}

}  // extern "C"
