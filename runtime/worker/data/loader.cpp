#include "runtime/worker/data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace expc::data {
namespace {

constexpr size_t kAlignment = 64;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory allocate(size_t bytes) {
  return Memory(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
}

/// What one batch consists of, cut from an epoch's order.
struct Task {
  std::vector<int64_t> items;
  int64_t epoch = 0, number = 0;
  bool last = false;
};

/// Goes through the epochs' orders batch by batch.
class TaskCutter {
 public:
  explicit TaskCutter(const LoaderOptions& options) : options_(options), epoch_(options.first_epoch - 1) {}

  /// False after the last epoch. Reuses the task's memory.
  bool next(Task& task) {
    while (number_ >= batches_) {
      if (options_.epochs > 0 && epoch_ + 1 >= options_.first_epoch + options_.epochs) return false;
      if (options_.epochs == 0 && epoch_ >= options_.first_epoch && batches_ == 0)
        return false;  // an epoch without a batch
      order_ = options_.order(++epoch_);
      number_ = 0;
      batches_ = batchesPerEpoch(static_cast<int64_t>(order_.size()), options_.batch, options_.drop_last);
    }
    const int64_t begin = number_ * options_.batch;
    const int64_t end = std::min<int64_t>(begin + options_.batch, static_cast<int64_t>(order_.size()));
    task.items.assign(order_.begin() + begin, order_.begin() + end);
    task.epoch = epoch_;
    task.number = number_++;
    task.last = number_ == batches_;
    return true;
  }

 private:
  const LoaderOptions& options_;
  std::vector<int64_t> order_;
  int64_t epoch_, number_ = 0, batches_ = 0;
};

struct Slot {
  enum class State { Free, Filling, Ready, Held } state = State::Free;
  Memory images, labels;
  Task task;
  uint64_t ticket = 0;  // position in the order of delivery
  std::string error;    // why it could not be filled
};

}  // namespace

namespace detail {

struct LoaderState {
  LoaderState(const Source& source, LoaderOptions given) : source(source), options(std::move(given)), cutter(options) {}

  const Source& source;
  const LoaderOptions options;

  std::mutex mutex;  // guards what follows
  std::condition_variable slot_free, batch_ready;
  TaskCutter cutter;
  std::vector<Slot> slots;
  uint64_t tickets_given = 0, tickets_delivered = 0;
  unsigned held = 0;
  bool exhausted = false;  // no task is left to give out
  bool stopping = false;
  std::string failure;  // the first error delivered
  std::vector<std::thread> threads;

  Slot* slotIn(Slot::State state) {
    for (Slot& slot : slots)
      if (slot.state == state) return &slot;
    return nullptr;
  }

  /// Takes the next task into the slot; false when there is none. Errors stay in the slot and are met at its turn.
  bool assign(Slot& slot) {
    slot.error.clear();
    try {
      if (!cutter.next(slot.task)) {
        exhausted = true;
        return false;
      }
    } catch (const std::exception& error) {
      slot.error = fmt::format("the order of the items could not be made: {}", error.what());
      slot.task = Task{};
      exhausted = true;
    }
    slot.state = Slot::State::Filling;
    slot.ticket = tickets_given++;
    return true;
  }

  /// Prepares the slot's items; called without the lock. Stops early when the loader is being destroyed.
  void fill(Slot& slot) {
    if (!slot.error.empty()) return;
    try {
      auto* image = static_cast<char*>(slot.images.get());
      auto* label = static_cast<int64_t*>(slot.labels.get());
      for (int64_t item : slot.task.items) {
        if (abandoned.load(std::memory_order_relaxed)) return;
        if (auto error = source.fill(item, image, label++)) {
          slot.error = llvm::toString(std::move(error));
          return;
        }
        image += source.imageBytes();
      }
    } catch (const std::exception& error) {
      slot.error = fmt::format("preparing a batch failed: {}", error.what());
    } catch (...) {
      slot.error = "preparing a batch failed: unknown exception";
    }
  }
  std::atomic<bool> abandoned{false};

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      Slot* slot = nullptr;
      slot_free.wait(lock, [&] { return stopping || exhausted || (slot = slotIn(Slot::State::Free)) != nullptr; });
      if (stopping || exhausted || !assign(*slot)) break;
      lock.unlock();
      fill(*slot);
      lock.lock();
      slot->state = Slot::State::Ready;
      batch_ready.notify_all();
    }
    // Others that wait for a slot leave too, and next() looks again whether a batch can still come.
    slot_free.notify_all();
    batch_ready.notify_all();
  }

  /// The slot whose turn it is, once ready; null at the end.
  Slot* take(std::unique_lock<std::mutex>& lock) {
    if (threads.empty()) {
      Slot* slot = slotIn(Slot::State::Free);
      if (exhausted || !assign(*slot)) return nullptr;
      lock.unlock();
      fill(*slot);
      lock.lock();
      return slot;
    }
    Slot* found = nullptr;
    batch_ready.wait(lock, [&] {
      for (Slot& slot : slots)
        if (slot.state == Slot::State::Ready && slot.ticket == tickets_delivered) found = &slot;
      return found != nullptr || (exhausted && tickets_delivered == tickets_given);
    });
    return found;
  }

  void stop() {
    abandoned = true;
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    slot_free.notify_all();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
};

}  // namespace detail

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  release();
  images = std::exchange(other.images, nullptr);
  labels = std::exchange(other.labels, nullptr);
  count = other.count;
  epoch = other.epoch;
  number = other.number;
  last = other.last;
  state_ = std::move(other.state_);
  slot_ = other.slot_;
  return *this;
}

void Batch::release() {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->slots[slot_].state = Slot::State::Free;
    --state_->held;
  }
  state_->slot_free.notify_one();
  state_.reset();
  images = nullptr;
  labels = nullptr;
}

llvm::Expected<std::unique_ptr<Loader>> Loader::create(const Source& source, LoaderOptions options) {
  const auto failure = [](const std::string& text) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
  };
  if (!options.order || options.batch < 1 || options.held < 1 || (options.workers > 0 && options.prefetch < 1))
    return failure("loader: an order, and a batch, prefetch and held of at least 1 are needed");
  // Above this no allocation can work, and products would overflow.
  constexpr int64_t kMostBytes = int64_t{1} << 40;
  if (options.batch > kMostBytes / std::max<int64_t>(source.imageBytes(), sizeof(int64_t)))
    return failure(fmt::format("loader: no memory for batches of {} items of {} bytes; lower batch or size",
                               options.batch, source.imageBytes()));
  const int64_t batch_bytes = options.batch * source.imageBytes();
  auto state = std::make_shared<detail::LoaderState>(source, std::move(options));
  if (state->options.epochs == 0) {
    const auto items = static_cast<int64_t>(state->options.order(state->options.first_epoch).size());
    if (batchesPerEpoch(items, state->options.batch, state->options.drop_last) == 0)
      return failure(
          fmt::format("loader: {} items for this rank give no batch of {}; use a smaller batch or fewer ranks", items,
                      state->options.batch));
  }
  const size_t ahead = size_t{state->options.workers} * state->options.prefetch;
  state->slots.resize(ahead + state->options.held);
  for (Slot& slot : state->slots) {
    slot.images = allocate(static_cast<size_t>(batch_bytes));
    slot.labels = allocate(static_cast<size_t>(state->options.batch) * sizeof(int64_t));
    if (!slot.images || !slot.labels)
      return failure(fmt::format("loader: no memory for {} batches of {} bytes; lower batch, size, workers or prefetch",
                                 state->slots.size(), batch_bytes));
  }
  std::unique_ptr<Loader> loader(new Loader(state));
  try {
    for (unsigned i = 0; i < state->options.workers; ++i)
      state->threads.emplace_back([raw = state.get()] { raw->work(); });
  } catch (const std::system_error& error) {
    return failure(fmt::format("loader: thread {} of {} does not start: {}", state->threads.size() + 1,
                               state->options.workers, error.what()));
  }
  return loader;
}

Loader::~Loader() { state_->stop(); }

llvm::Expected<std::optional<Batch>> Loader::next() {
  const auto failure = [](const std::string& text) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
  };
  const auto start = std::chrono::steady_clock::now();
  detail::LoaderState& state = *state_;
  std::unique_lock lock(state.mutex);
  if (!state.failure.empty()) return failure(state.failure);
  if (state.held >= state.options.held)
    return failure(fmt::format("loader: {} batches are still held, at most {} may be; release one first", state.held,
                               state.options.held));
  Slot* slot = state.take(lock);
  wait_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (slot == nullptr) return std::optional<Batch>();
  ++state.tickets_delivered;
  if (!slot->error.empty()) {
    state.failure = slot->error;
    state.exhausted = true;
    state.slot_free.notify_all();
    return failure(state.failure);
  }
  slot->state = Slot::State::Held;
  ++state.held;
  Batch batch;
  batch.images = slot->images.get();
  batch.labels = static_cast<int64_t*>(slot->labels.get());
  batch.count = static_cast<int64_t>(slot->task.items.size());
  batch.epoch = slot->task.epoch;
  batch.number = slot->task.number;
  batch.last = slot->task.last;
  batch.state_ = state_;
  batch.slot_ = static_cast<size_t>(slot - state.slots.data());
  return std::optional<Batch>(std::move(batch));
}

}  // namespace expc::data
