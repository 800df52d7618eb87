// Streams.

#include "nullgpu/core/stream.h"

#include <memory>

#include "nullgpu/core/capture.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

struct Callback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* data;
};

void callBack(void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, cudaSuccess, callback->data);
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaStreamCreate, (cudaStream_t * stream), createStream(cudaStreamDefault, 0, stream))
NULLGPU_CALL(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), createStream(flags, 0, stream))
NULLGPU_CALL(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
             createStream(flags, priority, stream))
NULLGPU_CALL(cudaStreamDestroy, (cudaStream_t stream), destroyStream(stream))

NULLGPU_CALL(cudaStreamGetPriority, (cudaStream_t stream, int* priority), priorityOf(stream, priority))
NULLGPU_CALL(cudaStreamSynchronize, (cudaStream_t stream), synchronize(stream))
NULLGPU_CALL(cudaStreamQuery, (cudaStream_t stream), query(stream))
cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [] {
    const cudaError_t error = refuseUnsafeCall();
    return error ? error : synchronizeCard();
  });
}

NULLGPU_CALL(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
             callHost(stream, function, data))
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned flags) {
  return call("cudaStreamAddCallback", [&] {
    if (!function || flags != 0) return cudaErrorInvalidValue;
    auto callback = std::make_unique<Callback>(Callback{function, stream, data});
    const cudaError_t error = callHost(stream, callBack, callback.get());
    if (!error) callback.release();
    return error;
  });
}

}  // extern "C"
