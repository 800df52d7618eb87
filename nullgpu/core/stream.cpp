// The libraries' way to the queues: checks of health, capture and faults in the order in which CUDA
// makes them, then one push or one wait under the queues' lock.

#include "nullgpu/core/stream.h"

#include <driver_types.h>

#include <optional>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/capture.h"
#include "nullgpu/core/health.h"
#include "nullgpu/core/host_guard.h"
#include "nullgpu/core/queues.h"
#include "nullgpu/core/record.h"

namespace nullgpu {

Ticket queue(cudaStream_t handle, std::shared_ptr<Operation> operation) {
  if (const cudaError_t error = health()) return {error, {}, 0};
  Queues& all = queues();
  std::unique_lock lock(all.mutex);
  // An error may have stuck before we got the lock; its abandon() would then miss this operation.
  if (const cudaError_t error = health()) return {error, {}, 0};
  const auto stream = all.find(handle);
  if (!stream) return {cudaErrorInvalidResourceHandle, {}, 0};
  if (stream->capture) return {capture(*stream, std::move(operation)), {}, 0};
  if (const cudaError_t error = refuseImplicit(*stream)) return {error, {}, 0};
  // The operation's number is read before holdBack(), which may release the lock and let others
  // queue.
  all.push(stream, std::move(operation));
  recordQueued();
  const uint64_t sequence = all.sequence();
  all.holdBack(lock);
  return {cudaSuccess, stream, sequence};
}

cudaError_t finish(const Ticket& ticket) {
  if (ticket.error || !ticket.stream) return ticket.error;
  const Wait wait;
  noticeLoss();
  Queues& all = queues();
  std::unique_lock lock(all.mutex);
  return all.wait(lock, [&] { return all.passed(*ticket.stream, ticket.sequence); });
}

cudaError_t enqueue(cudaStream_t stream, std::shared_ptr<Operation> operation) {
  return queue(stream, std::move(operation)).error;
}

cudaError_t launch(cudaStream_t stream, std::string_view name, std::function<bool()> body) {
  // A library of NVIDIA's launches by the runtime that it carries, and profilers see that call.
  std::optional<CallScope> of_library;
  if (currentCorrelation() == 0) of_library.emplace("cudaLaunchKernel");
  if (const cudaError_t error = health()) return error;
  if (launchesMatter() && !isCaptured(stream))
    if (const cudaError_t error = countLaunches(1)) return error;
  return enqueue(stream, std::make_shared<FunctionOperation>(std::move(body), Activity{.name = name}));
}

bool isCaptured(cudaStream_t handle) {
  const std::lock_guard lock(queues().mutex);
  const auto stream = queues().find(handle);
  return stream && stream->capture;
}

unsigned cardOfStream(cudaStream_t handle) {
  const std::lock_guard lock(queues().mutex);
  const auto stream = queues().find(handle);
  return stream ? stream->card : currentCard();
}

cudaError_t synchronize(cudaStream_t handle) {
  const Wait wait;
  noticeLoss();
  Queues& all = queues();
  std::unique_lock lock(all.mutex);
  const auto stream = all.find(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = refuseWaiting(*stream)) return error;
  const uint64_t sequence = all.sequence();
  return all.wait(lock, [&] { return all.passed(*stream, sequence); });
}

// Later work of other threads does not extend the wait: only what has been queued so far counts.
cudaError_t synchronizeCard(unsigned card) {
  const Wait wait;
  noticeLoss();
  Queues& all = queues();
  std::unique_lock lock(all.mutex);
  const uint64_t sequence = all.sequence();
  return all.wait(lock, [&] { return all.passedOnCard(card, sequence); });
}

}  // namespace nullgpu
