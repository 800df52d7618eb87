#pragma once

// Streams are queues. What is queued is done late, by one thread for all cards of the process, in an order that is
// drawn from the seed among those that streams and events allow.

#include <driver_types.h>

#include <functional>
#include <memory>
#include <utility>

#include "nullgpu/core/activity.h"

namespace nullgpu {

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
};

/// One that is a function, of which nothing is told.
class FunctionOperation final : public Operation {
 public:
  explicit FunctionOperation(std::function<bool()> advance) : advance_(std::move(advance)) {}
  bool advance() override { return advance_(); }

 private:
  std::function<bool()> advance_;
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

}  // namespace nullgpu
