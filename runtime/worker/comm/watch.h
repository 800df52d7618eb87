#pragma once

// A GPU's collective cannot tell the host that another rank is gone: the host queues it and waits later, in any call of
// CUDA, which does not come back while NCCL's kernel spins. So a thread watches what the training thread cannot.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/comm/rendezvous.h"

namespace expc::comm {

/// What a CommError says: "rank 0 of 2 lost the others in an all-reduce: …".
std::string lostMessage(const Rendezvous& rendezvous, const std::string& operation, const std::string& why);

/// Looks ten times a second and calls `on_lost` once, in its thread, when `failure` gives a text (what went wrong with
/// a collective that is queued) or when an operation has not come back to the host a second after the timeout, by when
/// it should have thrown itself.
class Watch {
 public:
  Watch(const Rendezvous& rendezvous, std::function<std::string()> failure, OnLost on_lost);
  /// Ends the thread.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

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
  void run();

  const Rendezvous rendezvous_;
  const std::function<std::string()> failure_;
  const OnLost on_lost_;
  std::atomic<const char*> name_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable ends_;
  bool ended_ = false;
  bool running_ = false;
  Clock::time_point since_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace expc::comm
