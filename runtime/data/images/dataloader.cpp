// A loader with the semantics of torch.utils.data.DataLoader, so that a study can measure what they cost beside the
// native loader: workers by epoch, whole batches by worker, results held back until their turn, and a pinning thread
// that copies. docs/semantics.md §10 describes them.
//
// Batches are numbered by tickets in the order of delivery. `sent_` tickets are given out, `delivered_` handed over;
// results between them wait in `early_`. Slots bound the memory: no more batches are under way and held than there are
// slots.

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/crew.h"
#include "runtime/data/images/loader.h"

namespace expc::data {
namespace {

/// Copies a finished batch from its slot of `from` to a slot of `to`, which must have one free, and gives the old slot
/// back. A failed batch only gives its slot back.
void copyAcross(Done& done, Slots& from, Slots& to) {
  const size_t source = done.job.slot;
  if (done.error.empty()) {
    const auto target = to.take();
    assert(target);
    const auto count = size_t(done.job.batch.count);
    // Only the images of the batch, then the labels, which lie at the same offset in both slots.
    std::memcpy(to.images(*target), from.images(source), count * from.imageBytes());
    std::memcpy(to.labels(*target), from.labels(source), count * sizeof(int64_t));
    done.job.slot = *target;
  }
  from.give(source);
}

/// The pinning thread: takes results from the crew as they arrive, copies them, and passes them on in that order.
class Pinner {
 public:
  Pinner(Crew& crew, Slots& from, Slots& to) : crew_(crew), thread_([this, &from, &to] { work(from, to); }) {}
  // The crew is interrupted first, since the thread may wait for it; the thread is joined with the last member.
  ~Pinner() { crew_.interrupt(); }
  /// The next copied result; waits for it. An error of the crew comes once, as the last.
  Expected<std::optional<Done>> receive() {
    auto done = *copied_.take();
    if (!done && !failure_.empty()) return failure("{}", failure_);
    return done;
  }

 private:
  void work(Slots& from, Slots& to) {
    while (true) {
      auto done = crew_.receive();
      if (!done) failure_ = toString(done.takeError());
      if (!failure_.empty() || !*done) return copied_.put(std::nullopt);
      copyAcross(**done, from, to);
      copied_.put(std::move(*done));
    }
  }

  Crew& crew_;
  Conveyor<std::optional<Done>> copied_;  // an empty value is the last
  std::string failure_;                   // of the crew; written before the last value, which orders it
  std::jthread thread_;                   // last, since it uses the other members
};

class DataLoader : public Loader {
 public:
  DataLoader(const Images& images, LoaderOptions options)
      : Loader(options.held), images_(images), options_(std::move(options)), plan_(options_) {}

  /// Allocates memory and starts the first epoch.
  Error open();

 private:
  Expected<std::optional<HostBatch>> take() override;
  void stop() override;
  /// Starts the workers of the next epoch that has a batch, and gives them their first jobs.
  Error beginEpoch();
  void endEpoch();
  /// Gives the epoch's next batch, if there is one, to the worker whose turn it is.
  Error sendOne();
  /// The batch whose turn it is, in a slot of out_; nothing after the last.
  Expected<std::optional<Done>> turn();
  /// The next batch, prepared on this thread.
  Expected<std::optional<Done>> prepareHere();
  /// The next batch, from the workers; puts results that come early aside.
  Expected<std::optional<Done>> fromWorkers();

  const Images& images_;
  const LoaderOptions options_;
  BatchPlan plan_;
  std::shared_ptr<Slots> work_;         // where batches are prepared; the same as out_ unless results are copied
  std::unique_ptr<ItemWriter> writer_;  // if there are no workers
  std::vector<uint8_t> scratch_;

  std::unique_ptr<Crew> crew_;  // of the current epoch
  std::unique_ptr<Pinner> pinner_;
  std::map<uint64_t, Done> early_;  // results whose turn has not come, by ticket
  uint64_t sent_ = 0, delivered_ = 0;
  uint64_t epoch_began_ = 0;  // ticket of the epoch's first batch; worker numbers start there
};

Error DataLoader::open() {
  const size_t ahead = size_t{options_.workers} * options_.prefetch;
  const int64_t batch = options_.batch;
  const size_t image = options_.preparation.imageBytes();
  const bool processes = options_.workers > 0 && options_.processes;
  // With copying, a batch leaves the workers' memory before the caller holds it, so that memory needs no slots for held
  // batches.
  const size_t slots = options_.memory ? std::max<size_t>(ahead, 1) : ahead + options_.held;
  work_ = TRY(Slots::create(slots, batch, image, processes ? sharedMemory() : ownMemory()));
  out_ = work_;
  if (options_.memory) out_ = TRY(Slots::create(ahead + options_.held, batch, image, options_.memory));
  if (options_.workers == 0) writer_ = std::make_unique<ItemWriter>(images_, options_);
  return beginEpoch();
}

/// Workers for the next epoch that has a batch, and their first jobs.
Error DataLoader::beginEpoch() {
  auto order = TRY(plan_.beginEpoch());
  if (!order || options_.workers == 0) return Error::success();
  crew_ = TRY((options_.processes ? startProcesses(images_, options_, *work_, order)
                                  : startThreads(images_, options_, *work_)));
  try {
    if (out_ != work_) pinner_ = std::make_unique<Pinner>(*crew_, *work_, *out_);
  } catch (const std::system_error& error) {
    return failure("loader: the pinning thread does not start: {}", error.what());
  }
  epoch_began_ = sent_;
  for (size_t i = 0; i < size_t{options_.workers} * options_.prefetch; ++i) TRY(sendOne());
  return Error::success();
}

/// Ends the workers. The pinning thread uses the crew, so it ends first.
void DataLoader::endEpoch() {
  pinner_.reset();
  crew_.reset();
}

/// Gives the epoch's next batch, if there is one, to the worker whose turn it is.
Error DataLoader::sendOne() {
  if (!plan_.hasNext()) return Error::success();
  const auto slot = work_->take();
  assert(slot);  // no more are under way and held than there are slots
  const uint64_t ticket = sent_++;
  return crew_->send(unsigned((ticket - epoch_began_) % options_.workers), {ticket, *slot, plan_.next()});
}

/// The batch whose turn it is, in a slot of out_; nothing after the last.
Expected<std::optional<Done>> DataLoader::turn() {
  const auto epoch_over = [&] { return !plan_.hasNext() && delivered_ == sent_; };
  if (epoch_over()) {
    endEpoch();
    TRY(beginEpoch());
  }
  if (epoch_over()) return std::optional<Done>();
  return options_.workers == 0 ? prepareHere() : fromWorkers();
}

Expected<std::optional<Done>> DataLoader::prepareHere() {
  const std::atomic<bool> never{false};
  std::optional<Done> done = prepare({sent_++, *work_->take(), plan_.next()}, *writer_, *work_, scratch_, never);
  if (out_ != work_) copyAcross(*done, *work_, *out_);
  return done;
}

Expected<std::optional<Done>> DataLoader::fromWorkers() {
  // Workers finish in any order; whatever comes before its turn waits here.
  while (early_.empty() || early_.begin()->first != delivered_) {
    auto done = TRY(pinner_ ? pinner_->receive() : crew_->receive());
    assert(done);  // only stop() interrupts
    const uint64_t ticket = done->job.ticket;
    early_.emplace(ticket, std::move(*done));
  }
  return std::move(early_.extract(early_.begin()).mapped());
}

void DataLoader::stop() {
  early_.clear();
  endEpoch();
}

Expected<std::optional<HostBatch>> DataLoader::take() {
  auto done = TRY(turn());
  if (!done) return std::nullopt;
  if (!done->error.empty()) return failure("{}", done->error);
  ++delivered_;
  std::optional<HostBatch> batch = handOver(done->job.slot, done->job.batch, done->skipped);
  // One batch was handed over, so one more is given out, as in PyTorch's _process_data.
  if (crew_) TRY(sendOne());
  return batch;
}

}  // namespace

Expected<std::unique_ptr<Batches>> makeDataLoader(const Images& images, LoaderOptions options) {
  TRY(checkOptions(options));
  auto loader = std::make_unique<DataLoader>(images, std::move(options));
  TRY(loader->open());
  return loader;
}

}  // namespace expc::data
