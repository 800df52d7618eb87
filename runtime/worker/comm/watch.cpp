// The watching threads of process_group.h. None of them may hold its mutex while it asks the
// device: the training thread takes the same mutex in every operation, and a hung device must not
// stop it too.

#include <condition_variable>
#include <stop_token>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 100ms;
/// Time for an operation to throw by itself first, as its own message says more.
constexpr auto kGrace = 1s;

}  // namespace

std::string lostMessage(const Rendezvous& rendezvous, const std::string& operation, const std::string& why) {
  return fmt::format(
      "rank {} of {} lost the others in {}: {} (another rank died, hangs or cannot be reached; its log says more)",
      rendezvous.rank, rendezvous.world_size, operation, why);
}

std::jthread repeat(std::chrono::milliseconds interval, std::function<bool()> look) {
  return std::jthread([interval, look = std::move(look)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    do {
      // Waiting on the stop token ends the thread at once when its jthread is destroyed.
      stopped.wait_for(lock, stop, interval, [] { return false; });
    } while (!stop.stop_requested() && look());
  });
}

Watch::Watch(const Rendezvous& rendezvous, std::function<std::string()> failure, OnLost on_lost)
    : rendezvous_(rendezvous),
      failure_(std::move(failure)),
      on_lost_(std::move(on_lost)),
      name_("the set-up"),
      thread_(repeat(kInterval, [this] { return look(); })) {}

Watch::Operation::Operation(Watch* watch, const char* name) : watch_(watch) {
  if (!watch_) return;
  watch_->name_ = name;
  const std::lock_guard lock(watch_->mutex_);
  watch_->running_ = true;
  watch_->since_ = base::Clock::now();
}

Watch::Operation::~Operation() {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  watch_->running_ = false;
}

bool Watch::look() {
  std::string why;
  // Locked for no longer than this: the training thread must never wait for what is asked below.
  {
    const std::lock_guard lock(mutex_);
    if (running_ && base::Clock::now() - since_ > rendezvous_.timeout + kGrace)
      why = fmt::format("it has not come back for {} s",
                        std::chrono::duration_cast<std::chrono::seconds>(rendezvous_.timeout).count());
  }
  if (why.empty()) why = failure_();
  if (!why.empty()) on_lost_(lostMessage(rendezvous_, name_.load(), why));
  return why.empty();
}

void Queued::add(std::function<bool()> ended) {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) progress_ = base::Clock::now();
  queue_.push_back(std::move(ended));
  if (!thread_.joinable()) thread_ = repeat(kInterval, [this] { return look(); });
}

base::Clock::duration Queued::stuckFor() const {
  return open_ == 0 ? base::Clock::duration::zero() : base::Clock::now() - progress_.load();
}

bool Queued::look() {
  std::unique_lock lock(mutex_);
  while (!queue_.empty()) {
    const std::function<bool()> ended = queue_.front();
    lock.unlock();  // the training thread may add to the queue meanwhile
    const bool yes = ended();
    lock.lock();
    // Work ends in order, so nothing behind this piece has ended.
    if (!yes) break;
    queue_.pop_front();
    progress_ = base::Clock::now();
    --open_;
  }
  return true;
}

}  // namespace expc::comm
