// Names and texts of errors, in CUDA's own words because programs and studies match them, and the
// thread's last error. Only errors that some call here can return are in the table.

#include <algorithm>
#include <iterator>

#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// An error with its name and its text.
struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

#define NULLGPU_ERROR(name, text) {name, #name, text}
constexpr ErrorText kErrors[] = {
    NULLGPU_ERROR(cudaSuccess, "no error"),
    NULLGPU_ERROR(cudaErrorInvalidValue, "invalid argument"),
    NULLGPU_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    NULLGPU_ERROR(cudaErrorInitializationError, "initialization error"),
    NULLGPU_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    NULLGPU_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    NULLGPU_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    NULLGPU_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    NULLGPU_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    NULLGPU_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    NULLGPU_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    NULLGPU_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    NULLGPU_ERROR(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    NULLGPU_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    NULLGPU_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    NULLGPU_ERROR(cudaErrorNotReady, "device not ready"),
    NULLGPU_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    NULLGPU_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    NULLGPU_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    NULLGPU_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    NULLGPU_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    NULLGPU_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    NULLGPU_ERROR(cudaErrorNotSupported, "operation not supported"),
    NULLGPU_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    NULLGPU_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    NULLGPU_ERROR(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    NULLGPU_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    NULLGPU_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    NULLGPU_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    NULLGPU_ERROR(cudaErrorStreamCaptureImplicit,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    NULLGPU_ERROR(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    NULLGPU_ERROR(cudaErrorStreamCaptureWrongThread,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    NULLGPU_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef NULLGPU_ERROR

/// The error of the thread's latest failed call; reading it clears it.
thread_local cudaError_t last_error = cudaSuccess;

/// The entry of an error; null if it is not in the table.
const ErrorText* textOf(cudaError_t error) {
  const auto* found = std::ranges::find(kErrors, error, &ErrorText::error);
  return found == std::end(kErrors) ? nullptr : found;
}

/// A sticky error cannot be cleared, so it hides the thread's own.
cudaError_t lastError() {
  const cudaError_t stuck = stuckError();
  return stuck ? stuck : last_error;
}

}  // namespace

cudaError_t remember(cudaError_t error) {
  if (error) last_error = error;
  return error;
}

}  // namespace nullgpu

extern "C" {

/// Returns the thread's last error and clears it, unless an error has stuck.
cudaError_t cudaGetLastError() {
  const cudaError_t error = nullgpu::lastError();
  nullgpu::last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return nullgpu::lastError(); }

const char* cudaGetErrorName(cudaError_t error) {
  const auto* known = nullgpu::textOf(error);
  return known ? known->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* known = nullgpu::textOf(error);
  return known ? known->text : "unrecognized error code";
}

}  // extern "C"
