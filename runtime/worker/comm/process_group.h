#pragma once

// c10d behind Communicator, and what watches it. Heavy: only for the .cpp files of comm.

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

#include "runtime/worker/comm/failure.h"
#include "runtime/worker/comm/rendezvous.h"

namespace expc::comm {

// Threads that watch what the training thread cannot. A GPU's collective cannot tell the host that another rank is
// gone: the host queues it and waits later, in any call of CUDA, which does not come back while NCCL's kernel spins. A
// graph of a GPU that has collectives in it tells NCCL's own watch nothing when it is launched: whether one of them
// never ends is seen by the launch alone.

/// Calls `look` at intervals, in a thread of its own, until it says no or the thread is destroyed.
std::jthread repeat(std::chrono::milliseconds interval, std::function<bool()> look);

/// What a CommError says: "rank 0 of 2 lost the others in an all-reduce: …".
std::string lostMessage(const Rendezvous& rendezvous, const std::string& operation, const std::string& why);

/// Looks ten times a second and calls `on_lost` once, in its thread, when `failure` gives a text (what went wrong with
/// a collective that is queued) or when an operation has not come back to the host a second after the timeout, by when
/// it should have thrown itself.
class Watch {
 public:
  Watch(const Rendezvous& rendezvous, std::function<std::string()> failure, OnLost on_lost);

  /// The training thread is in a call that waits for others, until this is destroyed. Its name stays for messages about
  /// what was queued. Not nested; a null watch watches nothing.
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

  /// Names what is queued from now on without a call of ours: gradients in a backward pass.
  void nowIn(const char* name) { name_ = name; }

 private:
  using Clock = std::chrono::steady_clock;
  bool look();

  const Rendezvous rendezvous_;
  const std::function<std::string()> failure_;
  const OnLost on_lost_;
  std::atomic<const char*> name_;
  std::mutex mutex_;  // guards what follows
  bool running_ = false;
  Clock::time_point since_;
  std::jthread thread_;  // last: it uses the others
};

/// What a device has queued, one piece after another. Asks ten times a second, in a thread of its own since the device
/// may not come back from being asked, which of it has ended.
class Queued {
 public:
  /// `ended` is asked in that thread until it says yes. The first one begins the thread.
  void add(std::function<bool()> ended);
  /// Since when there is something queued of which nothing has ended; zero where there is none. Never waits.
  std::chrono::steady_clock::duration stuckFor() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool look();

  std::atomic<size_t> open_{0};
  std::atomic<Clock::time_point> progress_{Clock::time_point{}};
  std::mutex mutex_;  // guards what follows
  std::deque<std::function<bool()>> queue_;
  std::jthread thread_;  // last: it uses the others
};

struct Group {
  Rendezvous rendezvous;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> processes;
  OnLost on_lost;
  Queued queued;                 // graphs with collectives in them
  std::unique_ptr<Watch> watch;  // where collectives are queued on a GPU
};

/// The CPU's backend (gloo.cpp).
c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store>& store, const Rendezvous& rendezvous);

/// Runs `body` and turns what it throws into a CommError that names the operation and what to look at. Memory that runs
/// out here and a device that fails stay what they are.
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

/// The same, under the group's watch: one that does not come back, as NCCL's set-up does where a rank is gone, is
/// reported too.
template <typename Body>
auto guarded(Group& group, const char* operation, Body body) {
  const Watch::Operation running(group.watch.get(), operation);
  return guarded(group.rendezvous, operation, std::move(body));
}

}  // namespace expc::comm
