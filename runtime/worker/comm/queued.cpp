#include "runtime/worker/comm/queued.h"

#include <utility>

namespace expc::comm {

using namespace std::chrono_literals;

Queued::~Queued() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

void Queued::add(std::function<bool()> ended) {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) progress_ = Clock::now();
  queue_.push_back(std::move(ended));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

Queued::Clock::duration Queued::stuckFor() const {
  return open_ == 0 ? Clock::duration::zero() : Clock::now() - progress_.load();
}

void Queued::run() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, 100ms, [this] { return ended_; })) {
    while (!queue_.empty() && !ended_) {
      const std::function<bool()> ended = queue_.front();
      lock.unlock();  // the training thread adds to it meanwhile
      const bool yes = ended();
      lock.lock();
      if (!yes) break;
      queue_.pop_front();
      progress_ = Clock::now();
      --open_;
    }
  }
}

}  // namespace expc::comm
