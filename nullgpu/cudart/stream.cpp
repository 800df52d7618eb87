// Streams.

#include "nullgpu/core/stream.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "nullgpu/core/capture.h"
#include "nullgpu/core/queues.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// @param flags cudaStreamDefault or cudaStreamNonBlocking. @param priority is brought into its range.
cudaError_t createStream(unsigned flags, int priority, cudaStream_t* stream) {
  if (!stream || (flags & ~unsigned(cudaStreamNonBlocking))) return cudaErrorInvalidValue;
  const std::lock_guard lock(queues().mutex);
  *stream = queues().create(flags & cudaStreamNonBlocking ? Stream::Kind::NonBlocking : Stream::Kind::Blocking,
                            std::clamp(priority, kGreatestPriority, kLeastPriority));
  return cudaSuccess;
}

cudaError_t destroyStream(cudaStream_t handle) {
  const std::lock_guard lock(queues().mutex);
  const auto stream = queues().find(handle);
  if (!stream || stream->kind == Stream::Kind::Legacy || !queues().destroy(handle))
    return cudaErrorInvalidResourceHandle;
  if (stream->capture) abandonCapture(*stream);
  return cudaSuccess;
}

cudaError_t priorityOf(cudaStream_t handle, int* priority) {
  const std::lock_guard lock(queues().mutex);
  const auto stream = queues().find(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  *priority = stream->priority;
  return cudaSuccess;
}

cudaError_t query(cudaStream_t handle) {
  Queues& all = queues();
  const std::lock_guard lock(all.mutex);
  const auto stream = all.find(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = refuseWaiting(*stream)) return error;
  if (all.passed(*stream, all.sequence())) return cudaSuccess;
  all.nudge();
  return cudaErrorNotReady;
}

/// Calls `function` in the stream's order, on another thread.
cudaError_t callHost(cudaStream_t stream, std::function<void()> function) {
  auto step = [function = std::move(function), waits = hostFunctionWaits()] {
    setHostFunctionRuns(true);
    function();
    setHostFunctionRuns(false);
    return true;
  };
  return enqueue(stream, std::make_shared<FunctionOperation>(std::move(step)));
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
    return error ? error : synchronizeCard(currentCard());
  });
}

NULLGPU_CALL(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
             function ? callHost(stream, [=] { function(data); }) : cudaErrorInvalidValue)
NULLGPU_CALL(cudaStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned flags),
             function&& flags == 0 ? callHost(stream, [=] { function(stream, cudaSuccess, data); })
                                   : cudaErrorInvalidValue)

}  // extern "C"
