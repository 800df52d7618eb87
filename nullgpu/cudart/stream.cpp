// Streams and events. An event is not an object that moves through a queue: recording it queues an
// operation that reaches a fresh mark, and waiting for it queues one that holds its stream until
// the mark is reached. Marks are never reused, so recording an event again leaves earlier waits
// alone. During a capture the same calls add dependencies to the graph instead.

#include "nullgpu/core/stream.h"

#include <driver_types.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/capture.h"
#include "nullgpu/core/health.h"
#include "nullgpu/core/queues.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// Makes a stream. @param flags cudaStreamDefault or cudaStreamNonBlocking @param priority clamped
/// to the range
cudaError_t createStream(unsigned flags, int priority, cudaStream_t* stream) {
  if (!stream || (flags & ~unsigned(cudaStreamNonBlocking))) return cudaErrorInvalidValue;
  const std::lock_guard lock(queues().mutex);
  *stream = queues().create(flags & cudaStreamNonBlocking ? Stream::Kind::NonBlocking : Stream::Kind::Blocking,
                            std::clamp(priority, kGreatestPriority, kLeastPriority));
  return cudaSuccess;
}

/// Destroys a stream; its queued work is still done. The legacy default stream cannot be destroyed.
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

/// cudaStreamQuery. A query that finds work lets the device do a step, so that a polling loop ends.
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

/// Queues a function of the host. It runs on the device's thread, where calls of the runtime are
/// refused (health.h). While it is queued, buffers that it may write are not compared
/// (host_guard.h).
cudaError_t callHost(cudaStream_t stream, std::function<void()> function) {
  auto step = [function = std::move(function), waits = hostFunctionWaits()] {
    setHostFunctionRuns(true);
    function();
    setHostFunctionRuns(false);
    return true;
  };
  return enqueue(stream, std::make_shared<FunctionOperation>(std::move(step)));
}

/// A point in a stream that an event was recorded at.
struct Mark {
  std::atomic<bool> reached{false};
  /// The time at which it was reached; written before `reached`.
  uint64_t time = 0;
};

/// An event: its latest recording, in a stream or in a capture.
struct Event {
  unsigned flags = 0, card = 0;
  std::shared_ptr<Mark> mark;  // null if never recorded outside a capture
  /// If the latest recording was in a capture: that capture, and the nodes that a wait depends on.
  std::weak_ptr<Capture> capture;
  std::vector<Node*> tips;
  /// The latest recording was in a capture. Only streams of the same capture may then wait for it.
  bool captured = false;
};

Handles<cudaEvent_t, Event> events;

void reach(Mark& mark) {
  mark.time = now();
  mark.reached = true;
}

/// A node that records the event at each launch, for cudaEventRecordExternal.
std::shared_ptr<Operation> reachInGraph(std::shared_ptr<Event> event) {
  return std::make_shared<FunctionOperation>([event = std::move(event)] {
    auto mark = std::make_shared<Mark>();
    reach(*mark);
    const std::lock_guard lock(queues().mutex);
    event->mark = std::move(mark);
    event->captured = false;
    return true;
  });
}

/// A node that waits for the event as it is recorded when the launch gets there
/// (cudaEventWaitExternal).
std::shared_ptr<Operation> waitInGraph(std::shared_ptr<Event> event) {
  return std::make_shared<FunctionOperation>([event = std::move(event)] {
    const std::lock_guard lock(queues().mutex);
    return !event->mark || event->mark->reached;
  });
}

/// The reason why the host may not ask about an event now, or cudaSuccess.
cudaError_t refuseEvent(const Event& event) {
  if (event.captured) return cudaErrorCapturedEvent;
  return refuseUnsafe();
}

cudaError_t createEvent(unsigned flags, cudaEvent_t* event) {
  constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (!event || (flags & ~kKnown)) return cudaErrorInvalidValue;
  // CUDA requires that an event shared between processes has no timing.
  if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return cudaErrorInvalidValue;
  auto made = std::make_shared<Event>();
  made->flags = flags;
  made->card = currentCard();
  const std::lock_guard lock(queues().mutex);
  *event = events.add(std::move(made));
  return cudaSuccess;
}

cudaError_t destroyEvent(cudaEvent_t event) {
  const std::lock_guard lock(queues().mutex);
  return events.remove(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/// Records the event: it stands for everything that the stream holds at this moment. In a capture
/// it only notes the stream's last nodes.
/// @returns cudaErrorInvalidResourceHandle if event and stream are on different cards
cudaError_t recordEvent(cudaEvent_t handle, cudaStream_t stream_handle, unsigned flags) {
  Queues& all = queues();
  const std::lock_guard lock(all.mutex);
  const auto event = events.find(handle);
  const auto stream = all.find(stream_handle);
  if (!event || !stream || event->card != stream->card) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {
    if (flags & cudaEventRecordExternal) return capture(*stream, reachInGraph(event));
    if (const cudaError_t error = captureError(*stream)) return error;
    event->capture = stream->capture;
    event->tips = stream->tips;
    event->captured = true;
    return cudaSuccess;
  }
  if (const cudaError_t error = refuseImplicit(*stream)) return error;
  event->mark = std::make_shared<Mark>();
  event->captured = false;
  all.push(stream, std::make_shared<FunctionOperation>([mark = event->mark] {
             reach(*mark);
             return true;
           }));
  return cudaSuccess;
}

/// Makes later work of the stream wait for the event as it was recorded last. A captured event
/// draws the stream into the capture; an event from outside cannot be waited for within one.
cudaError_t waitForEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned flags) {
  Queues& all = queues();
  const std::lock_guard lock(all.mutex);
  const auto event = events.find(handle);
  const auto stream = all.find(stream_handle);
  if (!event || !stream) return cudaErrorInvalidResourceHandle;
  if (stream->capture && (flags & cudaEventWaitExternal)) return capture(*stream, waitInGraph(event));
  if (event->captured) return joinCapture(stream, event->capture.lock(), event->tips);
  // Within a capture, only events of the same capture can be waited for.
  if (stream->capture) return invalidate(*stream->capture, cudaErrorStreamCaptureIsolation);
  // The recording is over, so there is nothing to wait for. CUDA treats an event that was never
  // recorded alike.
  if (!event->mark || event->mark->reached) return cudaSuccess;
  if (const cudaError_t error = refuseImplicit(*stream)) return error;
  all.push(stream, std::make_shared<FunctionOperation>([mark = event->mark] { return mark->reached.load(); }));
  return cudaSuccess;
}

cudaError_t queryEvent(cudaEvent_t handle) {
  const std::lock_guard lock(queues().mutex);
  const auto event = events.find(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = refuseEvent(*event)) return error;
  if (!event->mark || event->mark->reached) return cudaSuccess;
  queues().nudge();
  return cudaErrorNotReady;
}

cudaError_t synchronizeEvent(cudaEvent_t handle) {
  const Wait wait;
  noticeLoss();
  std::unique_lock lock(queues().mutex);
  const auto event = events.find(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = refuseEvent(*event)) return error;
  // Keep this mark: another thread may record the event again while we wait.
  const auto mark = event->mark;
  return queues().wait(lock, [&] { return !mark || mark->reached; });
}

/// Milliseconds between the moments at which the card reached both events. These are times of the
/// host's clock and say nothing about a real GPU.
cudaError_t elapsed(float* milliseconds, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
  if (!milliseconds) return cudaErrorInvalidValue;
  const std::lock_guard lock(queues().mutex);
  const auto begin = events.find(begin_handle), end = events.find(end_handle);
  if (!begin || !end || begin->card != end->card) return cudaErrorInvalidResourceHandle;
  for (const auto& event : {begin, end}) {
    if (event->captured) return cudaErrorCapturedEvent;
    if ((event->flags & cudaEventDisableTiming) || !event->mark) return cudaErrorInvalidResourceHandle;
  }
  if (!begin->mark->reached || !end->mark->reached) {
    queues().nudge();
    return cudaErrorNotReady;
  }
  *milliseconds = float(double(int64_t(end->mark->time - begin->mark->time)) / 1e6);
  return cudaSuccess;
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
NULLGPU_CALL(cudaDeviceSynchronize, (), safely([] { return synchronizeCard(currentCard()); }))

NULLGPU_CALL(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
             function ? callHost(stream, [=] { function(data); }) : cudaErrorInvalidValue)
NULLGPU_CALL(cudaStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned flags),
             function&& flags == 0 ? callHost(stream, [=] { function(stream, cudaSuccess, data); })
                                   : cudaErrorInvalidValue)

NULLGPU_CALL(cudaEventCreate, (cudaEvent_t * event), createEvent(cudaEventDefault, event))
NULLGPU_CALL(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), createEvent(flags, event))
NULLGPU_CALL(cudaEventDestroy, (cudaEvent_t event), destroyEvent(event))
NULLGPU_CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
             recordEvent(event, stream, cudaEventRecordDefault))
NULLGPU_CALL(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
             recordEvent(event, stream, flags))
NULLGPU_CALL(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
             waitForEvent(stream, event, flags))
NULLGPU_CALL(cudaEventQuery, (cudaEvent_t event), queryEvent(event))
NULLGPU_CALL(cudaEventSynchronize, (cudaEvent_t event), synchronizeEvent(event))
NULLGPU_CALL(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t begin, cudaEvent_t end),
             elapsed(milliseconds, begin, end))

}  // extern "C"
