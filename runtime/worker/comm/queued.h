#pragma once

// A graph of a GPU that has collectives in it tells NCCL's own watch nothing when it is launched: whether one of them
// never ends is seen by the launch alone.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace expc::comm {

/// What a device has queued, one piece after another. Asks ten times a second, in a thread of its own since the device
/// may not come back from being asked, which of it has ended.
class Queued {
 public:
  Queued() = default;
  /// Ends the thread.
  ~Queued();
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;

  /// `ended` is asked in that thread until it says yes. The first one begins the thread.
  void add(std::function<bool()> ended);
  /// Since when there is something queued of which nothing has ended; zero where there is none. Never waits.
  std::chrono::steady_clock::duration stuckFor() const;

 private:
  using Clock = std::chrono::steady_clock;
  void run();

  std::atomic<size_t> open_{0};
  std::atomic<Clock::time_point> progress_{Clock::time_point{}};
  std::mutex mutex_;  // guards what follows
  std::condition_variable ends_;
  bool ended_ = false;
  std::deque<std::function<bool()>> queue_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace expc::comm
