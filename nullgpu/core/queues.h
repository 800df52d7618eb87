#pragma once

// The queues of all streams of the process, under one lock, and the thread that does what is queued.

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

struct Entry {
  std::shared_ptr<Operation> operation;
  uint64_t sequence = 0;  // in the order of the calls, over all streams
  uint32_t correlation = 0;
  uint64_t begin = 0;  // when the card first saw it; 0: not yet
};

struct Stream {
  enum class Kind : uint8_t { Legacy, Blocking, NonBlocking };

  unsigned card = 0;
  uint32_t number = 0;
  Kind kind = Kind::Blocking;
  int priority = 0;
  std::deque<Entry> queue;
  uint64_t held_in = 0;              // the round in which its first operation could not be ended
  std::shared_ptr<Capture> capture;  // that it takes part in
  std::vector<Node*> tips;           // of the capture: what the next operation comes after
};

/// Objects by the handles that stand for them, which are their addresses. Used with the queues' lock held, and never
/// destroyed: a program uses its handles until the process is gone.
template <typename Handle, typename Object>
class Handles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(object.get());
    all_.emplace(handle, std::move(object));
    return handle;
  }
  /// Null where the handle stands for none.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = all_.find(handle);
    return found == all_.end() ? nullptr : found->second;
  }
  /// False where the handle stands for none.
  bool remove(Handle handle) { return all_.erase(handle) > 0; }

 private:
  using All = std::unordered_map<Handle, std::shared_ptr<Object>>;
  All& all_ = *new All;
};

/// Begun by the first operation, a thread takes operations from the streams. It moves when a host waits, when nothing
/// was queued for a moment, or when too much is queued; in between all stays where it is, so that what a program
/// forgets to wait for is seen to be missing.
class Queues {
 public:
  std::mutex mutex;  // of everything here, of streams, events, graphs and captures

  /// With the lock held: the stream of a handle. Null is the legacy default stream of the current card.
  std::shared_ptr<Stream> find(cudaStream_t handle);
  cudaStream_t create(Stream::Kind kind, int priority);
  /// The stream ends once its operations are done. False where there is none.
  bool destroy(cudaStream_t handle) { return streams_.remove(handle); }

  /// Behind what the stream holds, with the lock held.
  void push(const std::shared_ptr<Stream>& stream, std::shared_ptr<Operation> operation);
  /// Whether everything that was queued before this moment, `sequence`, is done in `stream`.
  bool passed(const Stream& stream, uint64_t sequence) const;
  bool passedOnCard(unsigned card, uint64_t sequence) const;
  uint64_t sequence() const { return sequence_; }

  /// Waits, with the lock held, until the device's thread has brought about what `satisfied` asks (under the lock).
  cudaError_t wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& satisfied);
  /// A query that found something not done: a moment of the device's time, so that a loop of queries ends.
  void nudge();
  /// Waits until few enough operations are queued.
  void holdBack(std::unique_lock<std::mutex>& lock);

  /// Drops what is queued; who waits is told what health() says.
  void abandon();
  /// Ends the device's thread.
  void shutDown();

 private:
  struct Waiter {
    const std::function<bool()>& satisfied;
    std::condition_variable wake;
    bool done = false;
  };

  void startThread();
  void serve();
  bool move(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<Stream> draw();
  bool mayMove(const Stream& stream) const;
  void rest(std::unique_lock<std::mutex>& lock);
  void tellWaiters();
  std::vector<Entry> takeAll();

  Handles<cudaStream_t, Stream> streams_;
  std::vector<std::shared_ptr<Stream>> legacy_;  // of each visible card
  std::vector<std::shared_ptr<Stream>> active_;  // that hold operations
  std::vector<Waiter*> waiters_;
  std::condition_variable work_, parked_;
  size_t pending_ = 0;
  uint64_t sequence_ = 0, queued_at_ = 0, waiting_since_ = 0, round_ = 1;
  uint32_t numbers_ = 0;
  unsigned nudges_ = 0, run_ = 0;
  unsigned pause_ = 0;                 // microseconds
  std::shared_ptr<Stream> favourite_;  // moves as long as `run_` lasts
  std::mt19937_64 random_;
  bool started_ = false, stopping_ = false, is_parked_ = false;
};

Queues& queues();

/// Where the operation stands that the device's thread is at.
struct Place {
  unsigned card = 0;
  uint32_t stream = 0, correlation = 0;
};

/// One step of an operation, on the device's thread. `begin`: when it was first tried, 0 before that. What it did is
/// told once it is done.
/// @returns whether it is done.
bool perform(Operation& operation, const Place& place, uint64_t& begin);

/// Where the operation stands that calls this.
const Place& currentPlace();

}  // namespace nullgpu
