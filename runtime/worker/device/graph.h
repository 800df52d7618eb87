#pragma once

// Work that a device does again and again, recorded once: queueing it is one call of the host then.

#include <functional>
#include <stdexcept>

namespace expc::device {

/// Something in the work cannot be recorded; the text says what. The device is as it was before the recording.
class NotRecorded : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Used by the thread that made it. From its making to its end that thread's work for the device goes into a stream of
/// its own: what a recording reuses must have been made on the stream that is recorded.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Records what `body` queues and does none of it. The same body must have run before, so that libraries have set
  /// themselves up and tried their algorithms. Memory that it allocates is the graph's, and what it leaves in tensors
  /// is written by each launch. Throws NotRecorded, and what the body throws for want of memory or of other ranks.
  virtual void record(const std::function<void()>& body) = 0;
  /// Gives up what was recorded, or a recording that was refused, with the memory of it that no tensor holds any more.
  /// Streams stay as they are.
  virtual void drop() = 0;
  /// Queues the recorded work. Random numbers go on from where the default generator is, as without a graph.
  virtual void launch() = 0;
  /// Asks, from any thread and without waiting, whether all that was launched so far has ended.
  virtual std::function<bool()> ended() = 0;
  /// Kernels, copies and the like in a launch.
  virtual size_t nodes() const = 0;
};

}  // namespace expc::device
