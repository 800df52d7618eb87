#include "nullgpu/core/queues.h"

#include <driver_types.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"

namespace nullgpu {

/// Never destroyed: streams are used until the process is gone.
Queues& queues() {
  static auto* instance = new Queues;
  return *instance;
}

std::shared_ptr<Stream> Queues::find(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) {
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
    thread_local std::map<unsigned, cudaStream_t> own;
    cudaStream_t& stream = own[currentCard()];
    if (!stream) stream = create(Stream::Kind::Blocking, 0);
    handle = stream;
  }
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

cudaStream_t Queues::create(Stream::Kind kind, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->card = currentCard();
  stream->number = ++numbers_;
  stream->kind = kind;
  stream->priority = priority;
  const auto handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams_.emplace(handle, std::move(stream));
  return handle;
}

bool Queues::destroy(cudaStream_t handle) { return streams_.erase(handle) > 0; }

void Queues::push(const std::shared_ptr<Stream>& stream, std::shared_ptr<Operation> operation) {
  queued_at_ = now();
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
  std::vector<Entry> dropped;  // outlives the lock: an operation may do what it likes when it ends
  const std::unique_lock lock(mutex);
  dropped = takeAll();
}

}  // namespace nullgpu
