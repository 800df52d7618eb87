#pragma once

// How libraries use streams: they queue an operation or a launch, and wait. Work is done late, by
// one thread for all cards of the process, in an order drawn from the seed among those that streams
// and events allow (queues.h). A program that forgets a wait therefore fails with some seed, and
// the same seed fails again. All functions are thread-safe and take the queues' lock.

#include <driver_types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "nullgpu/core/health.h"
#include "nullgpu/core/operation.h"

namespace nullgpu {

struct Stream;

/// Queues an operation behind everything that the stream holds, or appends it to the graph of the
/// stream's capture. Null is CUDA's legacy default stream of the thread's current card.
/// @returns the sticky error if there is one (nothing is queued then),
/// cudaErrorInvalidResourceHandle for no stream, or the capture's error
cudaError_t enqueue(cudaStream_t stream, std::shared_ptr<Operation> operation);

/// Launches a kernel of a library: counts it, checks the faults on demand, and queues an operation
/// that does nothing but `body`, which returns true. `name` must have static storage.
cudaError_t launch(cudaStream_t stream, std::string_view name, std::function<bool()> body = [] { return true; });

// How the runtime's own operations reach a queue, and how the host waits for them:

/// A queued operation that the host can wait for.
struct Ticket {
  cudaError_t error = cudaSuccess;
  std::shared_ptr<Stream> stream;  // null if a graph has taken it
  /// Position of the operation among all calls; finish() waits until the stream has passed it.
  uint64_t sequence = 0;
};
/// Like enqueue(), for callers that wait for the operation afterwards. Blocks while too many are
/// queued.
Ticket queue(cudaStream_t stream, std::shared_ptr<Operation> operation);
/// Waits until the operation is done. Returns at once if it has failed to be queued or went into a
/// graph.
cudaError_t finish(const Ticket& ticket);

/// Whether the stream is being captured, so that operations queued to it go into a graph.
bool isCaptured(cudaStream_t stream);
/// The process's number of the stream's card; the current card for null and for invalid handles.
unsigned cardOfStream(cudaStream_t stream);

/// The range of stream priorities that is reported; it has no effect on the order.
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

/// Waits for all work queued to the stream before this call. For the legacy default stream that
/// includes all blocking streams of its card.
/// @returns an error if a capture forbids waiting, or a sticky error
cudaError_t synchronize(cudaStream_t stream);
/// Waits for all work queued to the card's streams before this call.
cudaError_t synchronizeCard(unsigned card);

}  // namespace nullgpu
