#pragma once

// Streams are queues. What is queued is done late, by one thread for all cards of the process, in an order that is
// drawn from the seed among those that streams and events allow.

#include <driver_types.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "nullgpu/core/health.h"
#include "nullgpu/core/operation.h"

namespace nullgpu {

struct Stream;

/// Behind everything that the stream holds. Null is CUDA's legacy default stream of the thread's current card. A stream
/// that is being captured takes it into its graph instead. After a sticky error nothing is queued and that error is the
/// answer.
cudaError_t enqueue(cudaStream_t stream, std::shared_ptr<Operation> operation);

/// A kernel of a library: counted, checked against the faults, queued, and does nothing. `name` has static storage.
cudaError_t launch(cudaStream_t stream, std::string_view name);

// How the runtime's own operations reach a queue, and how the host waits for them:

/// An operation that was queued.
struct Ticket {
  cudaError_t error = cudaSuccess;
  std::shared_ptr<Stream> stream;  // null where a graph has taken it
  uint64_t sequence = 0;
};
Ticket queue(cudaStream_t stream, std::shared_ptr<Operation> operation);
/// Waits for it; at once for what a graph has taken.
cudaError_t finish(const Ticket& ticket);

/// Before the host waits, without the queues' lock.
void startWaiting();

/// Whether what is queued to the stream goes into a graph.
bool isCaptured(cudaStream_t stream);
/// The card of a stream; the current one for null and for what is none.
unsigned cardOfStream(cudaStream_t stream);

/// Priorities of streams.
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

cudaError_t synchronize(cudaStream_t stream);
/// Waits for all streams of `card`.
cudaError_t synchronizeCard(unsigned card);

}  // namespace nullgpu
