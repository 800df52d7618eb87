// The native loader. Its threads share batches image by image. A queue of assemblies, batches under construction, is
// kept in the order of delivery; a thread claims the first unclaimed image of the oldest assembly that has one, and
// cuts the next batch from the plan when there is none and a slot is free. So the oldest batch is finished as fast as
// all threads can, and no batch is held back by one slow worker.
//
// One mutex guards the queue; decoding and preparing happen outside of it. Slots are the only limit on how far the
// threads run ahead.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/loader.h"
#include "runtime/data/images/stream.h"

namespace expc::data {
namespace {

/// A batch that threads are working on. The queue's lock guards all of it; the memory of its slot is written without.
struct Assembly {
  PlannedBatch batch;
  size_t slot = 0;
  int64_t claimed = 0;   // images that a thread has taken
  int64_t finished = 0;  // images that are done
  int64_t skipped = 0;
  std::string error;       // of the first failing image by its place, so that the message does not depend on timing
  int64_t error_item = 0;  // that image's place in the batch

  bool complete() const { return finished == batch.count; }
};

/// The state that threads and loader share.
class Queue {
 public:
  Queue(const Images& images, const LoaderOptions& options, std::shared_ptr<Slots> slots)
      : options_(options),
        plan_(options_),
        writer_(images, options, slots->count() * slots->bytes() >= stream::kWorthwhile),
        slots_(std::move(slots)) {}

  /// Prepares images until stop(); the body of each thread.
  void work();
  /// Ends all threads after the image that each has in hand.
  void stop();
  /// Wakes threads because a slot became free.
  void slotGiven();

  /// Opens the first epoch.
  Error open();
  /// Waits for the oldest batch and removes it from the queue; nothing after the last. Without threads it prepares the
  /// batch itself.
  Expected<std::optional<Assembly>> take();

 private:
  /// The first image that nobody has taken, in the oldest batch that has one; null if there is nothing to do. Needs the
  /// lock.
  Assembly* claim(int64_t& item);
  /// Appends the next batch to the queue; false if there is none or no slot is free. Needs the lock.
  bool cut();
  /// Notes that an image is done. Needs the lock.
  void finish(Assembly& assembly, int64_t item, int64_t skipped, std::string error);
  /// Reads and prepares an image, without the lock.
  void prepare(Assembly& assembly, int64_t item, std::vector<uint8_t>& scratch);

  const LoaderOptions& options_;
  BatchPlan plan_;
  const ItemWriter writer_;
  const std::shared_ptr<Slots> slots_;
  std::atomic<bool> stopping_{false};
  std::vector<uint8_t> scratch_;  // of take(), if there are no threads

  std::mutex mutex_;  // guards all that follows, and plan_
  std::condition_variable work_left_, batch_complete_;
  // The batches under construction, in the order of delivery. A deque: threads keep references to its members while
  // others come and go.
  std::deque<Assembly> assemblies_;
  bool exhausted_ = false;    // no batch is left in the plan
  std::string plan_failure_;  // an error of the plan, returned after the batches before it
};

Error Queue::open() {
  auto order = TRY(plan_.beginEpoch());
  exhausted_ = !order;
  return Error::success();
}

/// Puts the next batch into the queue if there is one and a slot for it.
bool Queue::cut() {
  if (exhausted_) return false;
  if (!plan_.hasNext()) {
    auto order = plan_.beginEpoch();
    if (!order) plan_failure_ = toString(order.takeError());
    if (!plan_failure_.empty() || !*order) {
      exhausted_ = true;
      batch_complete_.notify_all();
      return false;
    }
  }
  const auto slot = slots_->take();
  if (!slot) return false;
  assemblies_.emplace_back();
  assemblies_.back().batch = plan_.next();
  assemblies_.back().slot = *slot;
  return true;
}

/// The first item that nobody has taken, in the oldest batch that has one.
Assembly* Queue::claim(int64_t& item) {
  const auto left = [](Assembly& assembly) { return assembly.claimed < assembly.batch.count; };
  for (Assembly& assembly : assemblies_)
    if (left(assembly)) return item = assembly.claimed++, &assembly;
  if (!cut()) return nullptr;
  // A new batch has images for threads that are waiting.
  work_left_.notify_all();
  return item = assemblies_.back().claimed++, &assemblies_.back();
}

void Queue::finish(Assembly& assembly, int64_t item, int64_t skipped, std::string error) {
  assembly.skipped += skipped;
  // If several images fail, the first by its place is reported, whichever thread failed first.
  if (!error.empty() && (assembly.error.empty() || item < assembly.error_item)) {
    assembly.error = std::move(error);
    assembly.error_item = item;
  }
  ++assembly.finished;
  // take() waits for the oldest batch only.
  if (assembly.complete() && &assembly == &assemblies_.front()) batch_complete_.notify_all();
}

void Queue::prepare(Assembly& assembly, int64_t item, std::vector<uint8_t>& scratch) {
  // No lock is needed for these: the batch and slot of an assembly never change once it is in the queue.
  const PlannedBatch& batch = assembly.batch;
  char* image = slots_->images(assembly.slot) + size_t(item) * slots_->imageBytes();
  int64_t* label = slots_->labels(assembly.slot) + item;
  int64_t skipped = 0;
  std::string error;
  if (auto failure = writer_.write(*batch.order, batch.begin + item, image, label, scratch, skipped))
    error = toString(std::move(failure));
  const std::lock_guard lock(mutex_);
  finish(assembly, item, skipped, std::move(error));
}

void Queue::work() {
  std::vector<uint8_t> scratch;
  while (true) {
    Assembly* assembly = nullptr;
    int64_t item = 0;
    {
      std::unique_lock lock(mutex_);
      work_left_.wait(lock, [&] { return stopping_ || (assembly = claim(item)) != nullptr; });
      if (stopping_) return;
    }
    prepare(*assembly, item, scratch);
  }
}

void Queue::slotGiven() {
  // With the lock: a thread that has just seen no slot must be asleep before it can be woken.
  {
    const std::lock_guard lock(mutex_);
  }
  work_left_.notify_all();
}

void Queue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_left_.notify_all();
}

Expected<std::optional<Assembly>> Queue::take() {
  std::unique_lock lock(mutex_);
  if (options_.workers == 0 && cut()) {
    Assembly& assembly = assemblies_.front();
    lock.unlock();
    for (int64_t item = 0; item < assembly.batch.count && assembly.error.empty(); ++item)
      prepare(assembly, item, scratch_);
    lock.lock();
    assembly.finished = assembly.batch.count;
  }
  // An empty queue means that threads are about to cut a batch, unless the plan is exhausted.
  batch_complete_.wait(lock, [&] { return assemblies_.empty() ? exhausted_ : assemblies_.front().complete(); });
  if (assemblies_.empty()) {
    if (!plan_failure_.empty()) return failure("{}", plan_failure_);
    return std::optional<Assembly>();
  }
  std::optional<Assembly> oldest = std::move(assemblies_.front());
  assemblies_.pop_front();
  return oldest;
}

class NativeLoader : public Loader {
 public:
  explicit NativeLoader(LoaderOptions options) : Loader(options.held), options_(std::move(options)) {}
  ~NativeLoader() override {
    if (queue_) queue_->stop();
  }

  Error open(const Images& images);

 private:
  Expected<std::optional<HostBatch>> take() override;
  void stop() override { queue_->stop(); }

  const LoaderOptions options_;
  std::shared_ptr<Queue> queue_;
  std::vector<std::jthread> threads_;  // last, since they use the queue until they are joined
};

Error NativeLoader::open(const Images& images) {
  // Slots for the batches ahead and those that the caller holds. Without threads nothing is ahead.
  const size_t count = (options_.workers == 0 ? 0 : options_.prefetch) + options_.held;
  out_ = TRY(Slots::create(count, options_.batch, options_.preparation.imageBytes(),
                           options_.memory ? options_.memory : ownMemory()));
  queue_ = std::make_shared<Queue>(images, options_, out_);
  TRY(queue_->open());
  // A batch may be given back after the loader is gone, so the callback must not keep the queue alive or rely on it.
  out_->onGive([queue = std::weak_ptr(queue_)] {
    if (const auto still = queue.lock()) still->slotGiven();
  });
  try {
    for (unsigned i = 0; i < options_.workers; ++i) threads_.emplace_back([queue = queue_.get()] { queue->work(); });
  } catch (const std::system_error& error) {
    return failure("loader: thread {} of {} does not start: {}", threads_.size() + 1, options_.workers, error.what());
  }
  return Error::success();
}

Expected<std::optional<HostBatch>> NativeLoader::take() {
  auto taken = TRY(queue_->take());
  if (!taken) return std::nullopt;
  if (!taken->error.empty()) return failure("{}", taken->error);
  return handOver(taken->slot, taken->batch, taken->skipped);
}

}  // namespace

Expected<std::unique_ptr<Batches>> makeNativeLoader(const Images& images, LoaderOptions options) {
  TRY(checkOptions(options));
  auto loader = std::make_unique<NativeLoader>(std::move(options));
  TRY(loader->open(images));
  return loader;
}

}  // namespace expc::data
