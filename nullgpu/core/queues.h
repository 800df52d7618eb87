#pragma once

// The queues of all streams of the process, under one lock, and the device's thread, which executes
// what is queued. CUDA promises little about when and in which order work runs; this scheduler uses
// all that freedom. Work starts late, and streams overtake each other as the seed decides, so that
// a program which lacks a wait or an event shows it.

#include <driver_types.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

#include "nullgpu/core/operation.h"

namespace nullgpu {

struct Capture;
struct Node;

/// A queued operation.
struct Entry {
  std::shared_ptr<Operation> operation;
  /// Its position among the operations of all streams, in the order of the calls.
  uint64_t sequence = 0;
  /// The call that queued it, for records.
  uint32_t correlation = 0;
  /// The time at which it was first tried; 0 before that.
  uint64_t begin = 0;
};

/// A stream. It lives until its last operation is done, even if its handle was destroyed.
struct Stream {
  /// Legacy: the default stream, ordered with all blocking streams of its card. Blocking:
  /// cudaStreamDefault.
  enum class Kind : uint8_t { Legacy, Blocking, NonBlocking };

  /// The card, by the process's number.
  unsigned card = 0;
  /// For records; 0 is the default stream.
  uint32_t number = 0;
  Kind kind = Kind::Blocking;
  /// Reported to those who ask; without effect.
  int priority = 0;
  std::deque<Entry> queue;
  /// The round in which its first operation was last tried without success; not tried again in that
  /// round.
  uint64_t held_in = 0;
  /// The capture that it takes part in, if any.
  std::shared_ptr<Capture> capture;
  /// During a capture, the nodes that the next operation must follow.
  std::vector<Node*> tips;
};

/// A table of objects by the handles that stand for them, which are the objects' addresses. Use it
/// with the queues' lock held. It is never destroyed, because programs use handles until the
/// process is gone.
template <typename Handle, typename Object>
class Handles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(object.get());
    all_.emplace(handle, std::move(object));
    return handle;
  }
  /// The object of a handle; null if there is none. The result outlives its removal from the table.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = all_.find(handle);
    return found == all_.end() ? nullptr : found->second;
  }
  /// @returns false if there is no such handle.
  bool remove(Handle handle) { return all_.erase(handle) > 0; }

 private:
  using All = std::unordered_map<Handle, std::shared_ptr<Object>>;
  All& all_ = *new All;
};

/// All streams, and the thread that executes them. The first operation starts the thread. It works
/// when a host waits, when a query asks, when nothing was queued for 2 ms, when the queues have not
/// been empty for 20 ms, or when many operations are queued. In between nothing moves, so that a
/// wait which the program forgot is missed.
class Queues {
 public:
  /// Protects everything here, and all streams, events, graphs and captures.
  std::mutex mutex;

  /// The stream of a handle, or null. Call it with the lock held. A null handle is the legacy
  /// default stream of the thread's current card; cudaStreamPerThread is one stream per thread and
  /// card.
  std::shared_ptr<Stream> find(cudaStream_t handle);
  /// Makes a stream on the current card, with the lock held.
  cudaStream_t create(Stream::Kind kind, int priority);
  /// Removes the handle; the stream's queued operations still happen. @returns false if there is no
  /// such stream.
  bool destroy(cudaStream_t handle) { return streams_.remove(handle); }

  /// Queues an operation at the stream's end, with the lock held.
  void push(const std::shared_ptr<Stream>& stream, std::shared_ptr<Operation> operation);
  /// Whether `stream` has done everything queued up to the position `sequence`. For the legacy
  /// default stream, all blocking streams of its card count too.
  bool passed(const Stream& stream, uint64_t sequence) const;
  /// Whether all streams of the card have done everything up to that position.
  bool passedOnCard(unsigned card, uint64_t sequence) const;
  /// The position of the operation queued last.
  uint64_t sequence() const { return sequence_; }

  /// Waits until `satisfied` holds. The lock is held on entry and return; `satisfied` is called
  /// with it held, also by the device's thread. @returns the sticky error if one ended the wait
  cudaError_t wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& satisfied);
  /// Lets the device's thread do one step on behalf of a query that found something not done, so
  /// that a program that polls makes progress.
  void nudge();
  /// Waits if very many operations are queued, until half of them are done. This bounds memory.
  void holdBack(std::unique_lock<std::mutex>& lock);

  /// Drops all queued operations and wakes all waiting hosts, which then report the sticky error.
  void abandon();
  /// Stops the device's thread and drops what is queued. Called once, when the process ends.
  void shutDown();

 private:
  /// A host thread that waits. It lives on that thread's stack.
  struct Waiter {
    const std::function<bool()>& satisfied;
    std::condition_variable wake;
    bool done = false;
  };

  /// Starts the device's thread unless it runs.
  void startThread();
  /// The device's thread.
  void serve();
  /// Tries one operation; false if none can be tried.
  bool move(std::unique_lock<std::mutex>& lock);
  /// Draws the stream to move next; null if none may.
  std::shared_ptr<Stream> draw();
  /// Whether the stream's first operation may be tried now.
  bool mayMove(const Stream& stream) const;
  /// Waits for something outside the process, with growing pauses.
  void rest(std::unique_lock<std::mutex>& lock);
  /// Wakes the hosts whose condition holds.
  void tellWaiters();
  /// Empties all queues and wakes all waiting hosts. @returns the operations, to be destroyed
  /// without the lock.
  std::vector<Entry> takeAll();

  Handles<cudaStream_t, Stream> streams_;
  /// The legacy default streams, by card; made when used.
  std::vector<std::shared_ptr<Stream>> legacy_;
  /// Streams with queued operations.
  std::vector<std::shared_ptr<Stream>> active_;
  std::vector<Waiter*> waiters_;
  /// `work_` wakes the device's thread; `parked_` tells shutDown() that it has stopped.
  std::condition_variable work_, parked_;
  /// Operations in all queues.
  size_t pending_ = 0;
  /// `queued_at_`: time of the latest push. `waiting_since_`: time of the first push after all
  /// queues were empty.
  uint64_t sequence_ = 0, queued_at_ = 0, waiting_since_ = 0, round_ = 1;
  uint32_t numbers_ = 0;
  /// `nudges_`: steps owed to queries. `run_`: operations that `favourite_` may still do in a row.
  unsigned nudges_ = 0, run_ = 0;
  /// Microseconds; the length of the last rest.
  unsigned pause_ = 0;
  /// The stream whose turn it is.
  std::shared_ptr<Stream> favourite_;
  std::mt19937_64 random_;
  bool started_ = false, stopping_ = false, is_parked_ = false;
};

Queues& queues();

/// The operation that the device's thread is executing, for records and for operations within a
/// graph.
struct Place {
  unsigned card = 0;
  uint32_t stream = 0, correlation = 0;
};

/// Executes one step of an operation on the device's thread, and reports its activity once it is
/// done.
/// @param begin time of the first step; set here if 0
/// @returns whether the operation is done
bool perform(Operation& operation, const Place& place, uint64_t& begin);

/// The place of the operation under way. Call it from advance() only.
const Place& currentPlace();

}  // namespace nullgpu
