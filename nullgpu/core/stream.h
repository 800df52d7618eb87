#pragma once

// Streams are queues. What is queued is done late, by one thread for all cards of the process, in an order that is
// drawn from the seed among those that streams and events allow.

#include <driver_types.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/host_guard.h"

namespace nullgpu {

struct Stream;

/// Something in a stream's queue.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Called by the device's thread, without the core's lock, once everything before it in its stream is done, and again
  /// and again until it returns true. Must not block; it may take as long as a copy takes. One that a graph holds is
  /// begun anew at each launch of the graph, so it must be as it was at first once it has returned true.
  virtual bool advance() = 0;
  /// What is told of it; `begin`, `end`, `stream`, `card` and `correlation` are filled in. Null: nothing is told.
  virtual Activity* activity() { return nullptr; }
  /// Watches the buffer of the host that it uses, for one that waits from here on; null where there is none to watch.
  virtual std::unique_ptr<HostGuard> guard() const { return nullptr; }
};

/// One that is a function, of which `told` is told.
class FunctionOperation final : public Operation {
 public:
  explicit FunctionOperation(std::function<bool()> advance, std::optional<Activity> told = {})
      : advance_(std::move(advance)), told_(told) {}
  bool advance() override { return advance_(); }
  Activity* activity() override { return told_ ? &*told_ : nullptr; }

 private:
  std::function<bool()> advance_;
  std::optional<Activity> told_;
};

/// Behind everything that the stream holds. Null is CUDA's legacy default stream of the thread's current card. A stream
/// that is being captured takes it into its graph instead. After a sticky error nothing is queued and that error is the
/// answer.
cudaError_t enqueue(cudaStream_t stream, std::shared_ptr<Operation> operation);

/// A kernel of a library: counted, checked against the faults, queued, and does nothing. `name` has static storage.
cudaError_t launch(cudaStream_t stream, std::string_view name);

/// Makes `error` the answer of every later call in this process, as a sticky error of CUDA.
void stick(cudaError_t error);
/// cudaSuccess while nothing stuck. After a fork: cudaErrorInitializationError.
cudaError_t health();

/// The card that this thread's calls are for.
unsigned currentCard();

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

/// Of streams.
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

cudaError_t synchronize(cudaStream_t stream);
/// Waits for all streams of `card`.
cudaError_t synchronizeCard(unsigned card);

}  // namespace nullgpu
