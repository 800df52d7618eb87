#pragma once

// The workers of the data loader for one epoch: each with a queue of its own, one queue for all results. Threads or
// processes, behind one face.

#include <llvm/Support/Error.h>

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

#include "runtime/data/images/loader.h"
#include "runtime/data/images/slots.h"

namespace expc::data {

/// A batch to be prepared in a slot.
struct Job {
  uint64_t ticket = 0;  // position in the order of delivery
  size_t slot = 0;
  PlannedBatch batch;
};

/// A job that came back.
struct Done {
  Job job;
  int64_t skipped = 0;  // images of it that could not be decoded
  std::string error;    // why it could not be prepared; empty when it could
};

/// Prepares a job in its slot; stops early when `abandoned`. `scratch` is kept from job to job, one for each worker.
Done prepare(Job job, const ItemWriter& writer, const Slots& slots, std::vector<uint8_t>& scratch,
             const std::atomic<bool>& abandoned);

/// From thread to thread, in order.
template <typename T>
class Conveyor {
 public:
  void put(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(std::move(value));
    }
    changed_.notify_one();
  }
  /// Waits for the next; nothing once it is closed, whatever is on it.
  std::optional<T> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !values_.empty(); });
    if (closed_) return std::nullopt;
    std::optional<T> value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<T> values_;
  bool closed_ = false;
};

/// Made by one thread and used by at most two: one sends, one receives.
class Crew {
 public:
  /// Stops: waits only for the item that each worker has in hand.
  virtual ~Crew() = default;
  /// All jobs of a crew belong to one epoch.
  virtual llvm::Error send(unsigned worker, Job job) = 0;
  /// Waits for the next result of any worker; nothing after interrupt(). An error when a worker died.
  virtual llvm::Expected<std::optional<Done>> receive() = 0;
  /// From any thread: makes a receive() that waits, and every later one, return nothing.
  virtual void interrupt() = 0;
};

/// Threads. `images`, `options` and `slots` must outlive the crew.
llvm::Expected<std::unique_ptr<Crew>> startThreads(const Images& images, const LoaderOptions& options, Slots& slots);

/// Processes, forked by the calling thread, that work for `order`'s epoch; slots of sharedMemory(). Forking a process
/// that has threads is safe here because a child calls nothing that another thread could have locked: it computes in
/// its own memory and in the shared slots, reads images by files or maps of its own, talks over sockets, and leaves by
/// _exit. malloc, which it needs, is put right by the C library's fork. It never touches torch, a device or a log.
llvm::Expected<std::unique_ptr<Crew>> startProcesses(const Images& images, const LoaderOptions& options, Slots& slots,
                                                     Order order);

}  // namespace expc::data
