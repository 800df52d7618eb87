#pragma once

// The workers of the data loader for one epoch, as threads or as processes behind one interface. As in PyTorch, each
// worker has a queue of jobs of its own, and all share one queue of results. Results arrive in any order;
// dataloader.cpp puts them into order. Images travel through Slots, memory that loader and workers share; only small
// messages go through the queues.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/loader.h"
#include "runtime/data/images/slots.h"

namespace expc::data {

/// A batch to be prepared in a slot.
struct Job {
  uint64_t ticket = 0;  // its number in the order of delivery
  size_t slot = 0;
  PlannedBatch batch;
};

/// A job that came back from a worker.
struct Done {
  Job job;
  int64_t skipped = 0;  // images in it that could not be decoded
  std::string error;    // why it could not be prepared; empty if it could
};

/// Prepares a job in its slot, on the calling thread. Stops between two images once `abandoned` is set. `scratch` is
/// kept from job to job, one for each worker.
Done prepare(Job job, const ItemWriter& writer, const Slots& slots, std::vector<uint8_t>& scratch,
             const std::atomic<bool>& abandoned);

/// A queue without limit, for any number of threads. The loader bounds what is under way by its slots.
template <typename T>
class Conveyor {
 public:
  /// Appends a value and wakes one thread that waits.
  void put(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(std::move(value));
    }
    changed_.notify_one();
  }
  /// Waits for the next value; nothing once the queue is closed, even if values are left.
  std::optional<T> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !values_.empty(); });
    if (closed_) return std::nullopt;
    std::optional<T> value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  /// Wakes everyone who waits; nothing can be taken afterwards.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<T> values_;
  bool closed_ = false;
};

/// The workers of one epoch. At most two threads use a crew: one sends, one receives.
class Crew {
 public:
  /// Stops the workers. Waits only for the image that each is preparing.
  virtual ~Crew() = default;
  /// Gives a job to a worker. All jobs of a crew belong to one epoch.
  virtual Error send(unsigned worker, Job job) = 0;
  /// Waits for the next result of any worker; nothing after interrupt(). An error if a worker died.
  virtual Expected<std::optional<Done>> receive() = 0;
  /// Makes a receive() that waits, and every later one, return nothing. May be called from any thread.
  virtual void interrupt() = 0;
};

/// Starts threads as workers. `images`, `options` and `slots` must outlive the crew.
Expected<std::unique_ptr<Crew>> startThreads(const Images& images, const LoaderOptions& options, Slots& slots);

/// Forks processes as workers from the calling thread, for the epoch with this order; `slots` must be of
/// sharedMemory().
///
/// Forking a process with threads is safe here because a child calls nothing that another thread could have locked at
/// that moment. It computes in its own memory and in the shared slots, reads images through files or maps of its own,
/// talks over sockets, and leaves by _exit. malloc, which it needs, is repaired by the C library's fork. It never
/// touches torch, a device or a log.
Expected<std::unique_ptr<Crew>> startProcesses(const Images& images, const LoaderOptions& options, Slots& slots,
                                               Order order);

}  // namespace expc::data
