#include "runtime/worker/comm/watch.h"

#include <fmt/format.h>

#include <utility>

namespace expc::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 100ms;
/// For an operation to throw by itself first: its own message says more.
constexpr auto kGrace = 1s;

}  // namespace

std::string lostMessage(const Rendezvous& rendezvous, const std::string& operation, const std::string& why) {
  return fmt::format(
      "rank {} of {} lost the others in {}: {} (another rank died, hangs or cannot be reached; its log says more)",
      rendezvous.rank, rendezvous.world_size, operation, why);
}

Watch::Watch(const Rendezvous& rendezvous, std::function<std::string()> failure, OnLost on_lost)
    : rendezvous_(rendezvous),
      failure_(std::move(failure)),
      on_lost_(std::move(on_lost)),
      name_("the set-up"),
      thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

Watch::Operation::Operation(Watch* watch, const char* name) : watch_(watch) {
  if (!watch_) return;
  watch_->name_ = name;
  const std::lock_guard lock(watch_->mutex_);
  watch_->running_ = true;
  watch_->since_ = Clock::now();
}

Watch::Operation::~Operation() {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  watch_->running_ = false;
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kInterval, [this] { return ended_; })) {
    std::string why;
    if (running_ && Clock::now() - since_ > rendezvous_.timeout + kGrace)
      why = fmt::format("it has not come back for {} s",
                        std::chrono::duration_cast<std::chrono::seconds>(rendezvous_.timeout).count());
    lock.unlock();  // the training thread must never wait for what is asked here
    if (why.empty()) why = failure_();
    if (!why.empty()) return on_lost_(lostMessage(rendezvous_, name_.load(), why));
    lock.lock();
  }
}

}  // namespace expc::comm
