#pragma once

// The inside of Communicator: c10d's objects, and the threads that watch them. Slow to compile, so
// only the sources of comm include it.

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/worker/comm/failure.h"
#include "runtime/worker/comm/rendezvous.h"

namespace expc::comm {

// Some failures the training thread cannot see, so other threads watch for them. A GPU's collective
// cannot tell the host that another rank is gone: the host queues it and waits later, in some call
// of CUDA that does not return while NCCL's kernel spins. And a graph with collectives in it tells
// NCCL's own watchdog nothing when it is launched, so only the launch as a whole can be watched.

/// Calls `look` at intervals in a new thread, until it returns false or the thread is destroyed.
std::jthread repeat(std::chrono::milliseconds interval, std::function<bool()> look);

/// The text of a CommError: "rank 0 of 2 lost the others in an all-reduce: …".
std::string lostMessage(const Rendezvous& rendezvous, const std::string& operation, const std::string& why);

/// A thread that looks ten times a second and calls `on_lost` once if something is wrong: if
/// `failure` gives a text (a queued collective has failed), or if an operation has not returned to
/// the host one second after the timeout. By then it should have thrown by itself.
class Watch {
 public:
  Watch(const Rendezvous& rendezvous, std::function<std::string()> failure, OnLost on_lost);

  /// Marks the training thread as being in a call that waits for others, until destroyed. Its name
  /// stays for messages about what was queued. Not nested. A null watch watches nothing.
  class Operation {
   public:
    /// `name` must live as long as the watch.
    Operation(Watch* watch, const char* name);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

   private:
    Watch* watch_;
  };

  /// Names what is queued from now on without a call of ours, such as gradients in a backward pass.
  void nowIn(const char* name) { name_ = name; }

 private:
  bool look();

  const Rendezvous rendezvous_;
  const std::function<std::string()> failure_;
  const OnLost on_lost_;
  std::atomic<const char*> name_;
  std::mutex mutex_;  // protects `running_` and `since_`
  bool running_ = false;
  base::Clock::time_point since_;
  std::jthread thread_;  // last, because it uses the other members
};

/// Pieces of work that a device has queued, in order. A thread asks ten times a second which of
/// them have ended; it has to be another thread, because asking a hung device may never return.
class Queued {
 public:
  /// Adds a piece. `ended` is called in that thread until it returns true. The first piece starts
  /// the thread.
  void add(std::function<bool()> ended);
  /// The time for which something was queued and nothing has ended; zero if nothing is queued.
  /// Never waits.
  base::Clock::duration stuckFor() const;

 private:
  bool look();

  std::atomic<size_t> open_{0};
  std::atomic<base::Clock::time_point> progress_{base::Clock::time_point{}};
  std::mutex mutex_;  // protects the queue
  std::deque<std::function<bool()>> queue_;
  std::jthread thread_;  // last, because it uses the other members
};

/// The objects behind a Communicator.
struct Group {
  Rendezvous rendezvous;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> processes;
  OnLost on_lost;
  Queued queued;                 // graphs with collectives in them
  std::unique_ptr<Watch> watch;  // null until collectives are queued on a GPU
};

/// Makes the backend for the CPU (gloo.cpp).
c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store>& store, const Rendezvous& rendezvous);

/// Runs `body` and turns its exceptions into a CommError, which names the operation and where to
/// look. Exceptions about memory of this rank or about its device pass unchanged: they are not the
/// other ranks' fault.
template <typename Body>
auto guarded(const Rendezvous& rendezvous, const char* operation, Body body) {
  try {
    return body();
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    const Failure failure = failureOf(error);
    if (failure != Failure::OtherRanks && failure != Failure::Other) throw;
    throw CommError(lostMessage(rendezvous, operation, firstLineOf(error)));
  }
}

/// Runs `body` likewise under the group's watch, which also reports an operation that never
/// returns. NCCL's set-up is one if a rank is gone.
template <typename Body>
auto guarded(Group& group, const char* operation, Body body) {
  const Watch::Operation running(group.watch.get(), operation);
  return guarded(group.rendezvous, operation, std::move(body));
}

}  // namespace expc::comm
