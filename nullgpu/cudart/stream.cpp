// Streams.

#include <memory>

#include "nullgpu/core/capture.h"
#include "nullgpu/core/enqueue.h"
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

cudaError_t traits(const char* name, cudaStream_t stream, auto take) {
  return call(name, [&] {
    StreamTraits found;
    const cudaError_t error = traitsOf(stream, found);
    if (!error) take(found);
    return error;
  });
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call("cudaStreamCreate", [&] { return createStream(cudaStreamDefault, 0, stream); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call("cudaStreamCreateWithFlags", [&] { return createStream(flags, 0, stream); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return call("cudaStreamCreateWithPriority", [&] { return createStream(flags, priority, stream); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", [&] { return destroyStream(stream); });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return traits("cudaStreamGetPriority", stream, [&](const StreamTraits& found) { *priority = found.priority; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return traits("cudaStreamGetFlags", stream, [&](const StreamTraits& found) { *flags = found.flags; });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return traits("cudaStreamGetId", stream, [&](const StreamTraits& found) { *id = found.number; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return traits("cudaStreamGetDevice", stream, [&](const StreamTraits& found) { *device = int(found.card); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&] { return synchronize(stream); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&] { return query(stream); });
}
cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [] {
    const cudaError_t error = refuseUnsafeCall();
    return error ? error : synchronizeCard();
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call("cudaLaunchHostFunc", [&] { return callHost(stream, function, data); });
}
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
