// The scheduler of the device's thread. Invariants:
// - An operation that is being executed leaves a placeholder with its position at the front of its
//   queue, so passed() counts it as not done although the lock is released meanwhile.
// - `active_` holds exactly the streams whose queue is not empty.
// - A round ends when any operation completes or the thread has rested. Within a round no operation
//   is tried twice, so one that waits for another rank does not spin.

#include "nullgpu/core/queues.h"

#include <driver_types.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/health.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/process.h"
#include "nullgpu/core/record.h"

namespace nullgpu {
namespace {

/// Nanoseconds without a call after which the cards move by themselves.
constexpr uint64_t kIdle = 2'000'000;
/// Nanoseconds after which they move although calls go on.
constexpr uint64_t kLatest = 20'000'000;
/// Queued operations from which on they move in any case.
constexpr size_t kMany = 4096;

thread_local bool on_device_thread = false;
thread_local OperationContext place_of_operation;
/// Nanoseconds of each card not yet reported to Machine::worked(). Used by the device's thread
/// only.
std::vector<uint64_t> busy;

/// Reports work in batches, since each report writes to memory that all processes share.
void tellBusy() {
  for (unsigned card = 0; card < busy.size(); ++card)
    if (const uint64_t nanoseconds = std::exchange(busy[card], 0)) machine().worked(visibleCards()[card], nanoseconds);
}

/// Registers with health.h before main(), when nothing can have failed yet.
[[maybe_unused]] const bool depends_on_health =
    (setDependents({[] { queues().abandon(); }, [] { queues().shutDown(); }}), true);

}  // namespace

/// Never destroyed: programs use streams until the process is gone.
Queues& queues() {
  static auto* instance = new Queues;
  return *instance;
}

std::shared_ptr<Stream> Queues::find(cudaStream_t handle) {
  // These streams exist without being created. Make them when somebody names them.
  if (!handle || handle == cudaStreamLegacy) {
    if (legacy_.size() <= currentCard()) legacy_.resize(visibleCards().size());
    auto& stream = legacy_[currentCard()];
    if (!stream) {
      stream = std::make_shared<Stream>();
      stream->card = currentCard();
      stream->kind = Stream::Kind::Legacy;
    }
    return stream;
  }
  if (handle == cudaStreamPerThread) {
    // A stream per thread and card. It stays when its thread ends, since operations may still be
    // queued.
    thread_local std::map<unsigned, cudaStream_t> own;
    cudaStream_t& stream = own[currentCard()];
    if (!stream) stream = create(Stream::Kind::Blocking, 0);
    handle = stream;
  }
  return streams_.find(handle);
}

cudaStream_t Queues::create(Stream::Kind kind, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->card = currentCard();
  stream->number = ++numbers_;
  stream->kind = kind;
  stream->priority = priority;
  return streams_.add(std::move(stream));
}

void Queues::push(const std::shared_ptr<Stream>& stream, std::shared_ptr<Operation> operation) {
  queued_at_ = now();
  // The thread sleeps without a time limit while nothing is queued, so only the first push wakes
  // it.
  if (pending_++ == 0) {
    waiting_since_ = queued_at_;
    startThread();
    work_.notify_one();
  }
  if (stream->queue.empty()) active_.push_back(stream);
  stream->queue.push_back({std::move(operation), ++sequence_, currentCorrelation()});
}

bool Queues::passed(const Stream& stream, uint64_t sequence) const {
  const auto behind = [&](const Stream& other) {
    return other.queue.empty() || other.queue.front().sequence > sequence;
  };
  if (stream.kind != Stream::Kind::Legacy) return behind(stream);
  return std::ranges::all_of(active_, [&](const auto& other) {
    return other->card != stream.card || other->kind == Stream::Kind::NonBlocking || behind(*other);
  });
}

bool Queues::passedOnCard(unsigned card, uint64_t sequence) const {
  return std::ranges::all_of(
      active_, [&](const auto& stream) { return stream->card != card || stream->queue.front().sequence > sequence; });
}

// The waiter is on our stack; whoever marks it done does so under the lock, and we leave the list
// ourselves.
cudaError_t Queues::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& satisfied) {
  if (const cudaError_t error = health()) return error;
  if (satisfied()) return cudaSuccess;
  Waiter waiter{satisfied, {}, false};
  waiters_.push_back(&waiter);
  work_.notify_one();
  waiter.wake.wait(lock, [&] { return waiter.done; });
  std::erase(waiters_, &waiter);
  return health();
}

void Queues::nudge() {
  ++nudges_;
  work_.notify_one();
}

void Queues::holdBack(std::unique_lock<std::mutex>& lock) {
  constexpr size_t kMost = size_t{1} << 16;
  if (pending_ > kMost) wait(lock, [this] { return pending_ <= kMost / 2; });
}

std::vector<Entry> Queues::takeAll() {
  std::vector<Entry> taken;
  for (const auto& stream : active_) {
    std::ranges::move(stream->queue, std::back_inserter(taken));
    stream->queue.clear();
  }
  active_.clear();
  pending_ = 0;
  for (Waiter* waiter : waiters_) {
    waiter->done = true;
    waiter->wake.notify_one();
  }
  return taken;
}

void Queues::abandon() {
  std::vector<Entry> dropped;  // destroyed after the lock is released: an operation's destructor may call back
  const std::unique_lock lock(mutex);
  dropped = takeAll();
}

// The thread:

/// Nested: a graph's launch executes other operations within its own.
const OperationContext& currentOperation() { return place_of_operation; }

bool perform(Operation& operation, const OperationContext& place, uint64_t& begin) {
  const OperationContext outer = std::exchange(place_of_operation, place);
  if (begin == 0) begin = now();
  const bool done = operation.advance();
  place_of_operation = outer;
  if (!done) return false;
  if (Activity* activity = operation.activity()) {
    activity->card = place.card;
    activity->stream = place.stream;
    activity->correlation = place.correlation;
    activity->begin = begin;
    // Records need an end after the beginning, even if the clock did not move.
    activity->end = std::max(now(), begin + 1);
    busy[place.card] += activity->end - begin;
    tell(*activity);
  }
  return true;
}

void Queues::startThread() {
  if (started_) return;
  started_ = true;
  random_.seed(configuration().seed);
  busy.resize(visibleCards().size());
  nullgpu::startThread([this] { serve(); });
}

void Queues::serve() {
  pthread_setname_np(pthread_self(), "nullgpu");
  on_device_thread = true;
  std::unique_lock lock(mutex);
  while (!stopping_) {
    if (pending_ == 0) {
      nudges_ = 0;
      tellBusy();
      work_.wait(lock, [this] { return pending_ > 0 || stopping_; });
      continue;
    }
    const uint64_t time = now();
    // Nobody waits and nothing is overdue: leave everything as it is.
    if (waiters_.empty() && nudges_ == 0 && pending_ < kMany && time < queued_at_ + kIdle &&
        time < waiting_since_ + kLatest) {
      work_.wait_for(lock, std::chrono::nanoseconds(kIdle));
      continue;
    }
    if (!move(lock)) rest(lock);
  }
  is_parked_ = true;
  parked_.notify_all();
}

/// The lock is released while the operation executes, since a copy takes long and operations may
/// take the lock.
bool Queues::move(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Stream> stream = draw();
  if (!stream) return false;
  if (nudges_ > 0) --nudges_;
  // A placeholder with the position stays in the queue until the operation is done.
  Entry entry = std::move(stream->queue.front());
  stream->queue.front().sequence = entry.sequence;
  const OperationContext place{stream->card, stream->number, entry.correlation};
  lock.unlock();
  const bool done = perform(*entry.operation, place, entry.begin);
  if (done) entry.operation.reset();
  lock.lock();
  // abandon() took the placeholder: an error has stuck, or the process ends.
  if (stream->queue.empty() || stream->queue.front().sequence != entry.sequence) {
    // Destroy the operation without the lock: it may own what needs it.
    lock.unlock();
    entry.operation.reset();
    lock.lock();
    return true;
  }
  if (!done) {
    stream->queue.front() = std::move(entry);
    stream->held_in = round_;
    return true;
  }
  stream->queue.pop_front();
  --pending_;
  ++round_;
  pause_ = 0;
  if (stream->queue.empty()) std::erase(active_, stream);
  tellWaiters();
  return true;
}

/// A stream keeps its turn for 1 to 256 operations. Short runs interleave streams finely, long ones
/// let a stream run far ahead; bugs hide from one or the other.
std::shared_ptr<Stream> Queues::draw() {
  if (run_ > 0 && favourite_ && mayMove(*favourite_)) {
    --run_;
    return favourite_;
  }
  std::vector<std::shared_ptr<Stream>> candidates;
  std::ranges::copy_if(active_, std::back_inserter(candidates), [this](const auto& each) { return mayMove(*each); });
  if (candidates.empty()) return nullptr;
  favourite_ = candidates[random_() % candidates.size()];
  run_ = (1u << (random_() % 9)) - 1;
  return favourite_;
}

/// The legacy default stream and the blocking streams of its card are ordered by the positions of
/// their first operations: none moves past an older one of the other kind. So the legacy stream
/// needs no operation of its own for its order.
bool Queues::mayMove(const Stream& stream) const {
  if (stream.queue.empty() || stream.held_in == round_) return false;
  if (stream.kind == Stream::Kind::NonBlocking) return true;
  const uint64_t sequence = stream.queue.front().sequence;
  return std::ranges::none_of(active_, [&](const auto& other) {
    const bool orders = stream.kind == Stream::Kind::Legacy ? other->kind == Stream::Kind::Blocking
                                                            : other->kind == Stream::Kind::Legacy;
    return orders && other->card == stream.card && other->queue.front().sequence < sequence;
  });
}

/// Everything that can be tried waits for something outside, such as another rank. Pauses grow from
/// 20 us to 1 ms.
void Queues::rest(std::unique_lock<std::mutex>& lock) {
  nudges_ = 0;
  tellBusy();
  pause_ = std::clamp<unsigned>(pause_ * 2, 20, 1000);
  work_.wait_for(lock, std::chrono::microseconds(pause_));
  ++round_;
}

void Queues::tellWaiters() {
  bool told = false;
  for (Waiter* waiter : waiters_) {
    if (waiter->done || !waiter->satisfied()) continue;
    // The host may ask NVML right after it wakes; report the work first.
    if (!std::exchange(told, true)) tellBusy();
    waiter->done = true;
    waiter->wake.notify_one();
  }
}

/// Drops work that the host no longer waits for, as CUDA does when a process ends. Waits at most 5
/// s for the device's thread, which may be inside an operation.
void Queues::shutDown() {
  if (!unload()) return;
  std::vector<Entry> dropped;
  std::unique_lock lock(mutex);
  stopping_ = true;
  work_.notify_all();
  if (started_ && !on_device_thread) parked_.wait_for(lock, std::chrono::seconds(5), [this] { return is_parked_; });
  dropped = takeAll();
  lock.unlock();
  recordEnd();
  reportIfAsked();
}

}  // namespace nullgpu
