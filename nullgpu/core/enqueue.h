#pragma once

// How the runtime's own operations reach a queue, and how the host waits for them.

#include <driver_types.h>

#include <memory>

#include "nullgpu/core/stream.h"

namespace nullgpu {

struct Stream;

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

cudaError_t priorityOf(cudaStream_t stream, int* priority);
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

/// @param flags cudaStreamDefault or cudaStreamNonBlocking. @param priority is brought into its range.
cudaError_t createStream(unsigned flags, int priority, cudaStream_t* stream);
cudaError_t destroyStream(cudaStream_t stream);
cudaError_t synchronize(cudaStream_t stream);
cudaError_t query(cudaStream_t stream);
/// Waits for all streams of the current card.
cudaError_t synchronizeCard();
/// Waits for all streams of `card`.
cudaError_t synchronizeCard(unsigned card);

/// Calls `function(data)` in the stream's order, on another thread.
cudaError_t callHost(cudaStream_t stream, cudaHostFn_t function, void* data);

}  // namespace nullgpu
