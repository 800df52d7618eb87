#include "runtime/worker/data/dataloader.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/worker/data/crew.h"
#include "runtime/worker/data/loader.h"
#include "runtime/worker/data/pinner.h"

namespace expc::data {
namespace {

class DataLoader : public Loader {
 public:
  DataLoader(const Images& images, LoaderOptions options)
      : Loader(options.held), images_(images), options_(std::move(options)), plan_(options_) {}

  /// Memory, and the first epoch's workers.
  llvm::Error open();

 private:
  llvm::Expected<std::optional<HostBatch>> take() override;
  void stop() override;
  llvm::Error beginEpoch();
  void endEpoch();
  llvm::Error sendOne();
  llvm::Expected<std::optional<Done>> turn();
  llvm::Expected<std::optional<Done>> prepareHere();
  llvm::Expected<std::optional<Done>> fromWorkers();

  const Images& images_;
  const LoaderOptions options_;
  BatchPlan plan_;
  std::shared_ptr<Slots> work_;         // where batches are prepared: out_ unless they are pinned
  std::unique_ptr<ItemWriter> writer_;  // without workers
  std::vector<uint8_t> scratch_;

  std::unique_ptr<Crew> crew_;  // the epoch's
  std::unique_ptr<Pinner> pinner_;
  std::map<uint64_t, Done> early_;  // results whose turn has not come
  uint64_t sent_ = 0, delivered_ = 0;
  uint64_t epoch_began_ = 0;  // ticket of the epoch's first batch
};

llvm::Error DataLoader::open() {
  const size_t ahead = size_t{options_.workers} * options_.prefetch;
  const int64_t batch = options_.batch;
  const size_t image = options_.preparation.imageBytes();
  const bool processes = options_.workers > 0 && options_.processes;
  auto work = Slots::create(options_.memory ? std::max<size_t>(ahead, 1) : ahead + options_.held, batch, image,
                            processes ? sharedMemory() : ownMemory());
  if (!work) return work.takeError();
  work_ = out_ = std::move(*work);
  if (options_.memory) {
    auto out = Slots::create(ahead + options_.held, batch, image, options_.memory);
    if (!out) return out.takeError();
    out_ = std::move(*out);
  }
  if (options_.workers == 0) writer_ = std::make_unique<ItemWriter>(images_, options_.preparation, options_.on_corrupt);
  return beginEpoch();
}

/// Workers for the next epoch that has a batch, and their first jobs.
llvm::Error DataLoader::beginEpoch() {
  auto order = plan_.beginEpoch();
  if (!order) return order.takeError();
  if (*order == nullptr || options_.workers == 0) return llvm::Error::success();
  CrewOptions crew;
  crew.workers = options_.workers;
  crew.images = &images_;
  crew.preparation = &options_.preparation;
  crew.slots = work_.get();
  crew.on_corrupt = options_.on_corrupt;
  auto started = options_.processes ? startProcesses(crew, *order) : startThreads(crew);
  if (!started) return started.takeError();
  crew_ = std::move(*started);
  if (out_ != work_) {
    auto pinner = Pinner::start(*crew_, *work_, *out_);
    if (!pinner) return pinner.takeError();
    pinner_ = std::move(*pinner);
  }
  epoch_began_ = sent_;
  for (size_t i = 0; i < size_t{options_.workers} * options_.prefetch; ++i)
    if (auto error = sendOne()) return error;
  return llvm::Error::success();
}

void DataLoader::endEpoch() {
  pinner_.reset();
  crew_.reset();
}

/// Gives the epoch's next batch, if there is one, to the worker whose turn it is.
llvm::Error DataLoader::sendOne() {
  if (!plan_.hasNext()) return llvm::Error::success();
  Job job;
  job.ticket = sent_++;
  const auto slot = work_->take();
  assert(slot);  // no more are under way and held than there are slots
  job.slot = *slot;
  job.batch = plan_.next();
  return crew_->send(static_cast<unsigned>((job.ticket - epoch_began_) % options_.workers), std::move(job));
}

/// The batch whose turn it is, in a slot of out_; nothing after the last.
llvm::Expected<std::optional<Done>> DataLoader::turn() {
  const bool epoch_over = !plan_.hasNext() && delivered_ == sent_;
  if (epoch_over) {
    endEpoch();
    if (auto error = beginEpoch()) return error;
    if (!plan_.hasNext() && delivered_ == sent_) return std::optional<Done>();
  }
  return options_.workers == 0 ? prepareHere() : fromWorkers();
}

llvm::Expected<std::optional<Done>> DataLoader::prepareHere() {
  std::optional<Done> done(std::in_place);
  Job& job = done->job;
  job.batch = plan_.next();
  job.ticket = sent_++;
  job.slot = *work_->take();
  const std::atomic<bool> never{false};
  done->error = fillBatch(*writer_, *job.batch.order, job.batch.begin, job.batch.count, work_->images(job.slot),
                          work_->labels(job.slot), never, scratch_, done->skipped);
  if (out_ != work_) copyAcross(*done, *work_, *out_);
  return done;
}

llvm::Expected<std::optional<Done>> DataLoader::fromWorkers() {
  while (early_.empty() || early_.begin()->first != delivered_) {
    auto done = pinner_ ? pinner_->receive() : crew_->receive();
    if (!done) return done.takeError();
    assert(*done);  // only stopping interrupts
    const uint64_t ticket = (*done)->job.ticket;
    early_.emplace(ticket, std::move(**done));
  }
  std::optional<Done> done = std::move(early_.begin()->second);
  early_.erase(early_.begin());
  return done;
}

void DataLoader::stop() {
  early_.clear();
  endEpoch();
}

llvm::Expected<std::optional<HostBatch>> DataLoader::take() {
  auto done = turn();
  if (!done) return done.takeError();
  if (!*done) return std::nullopt;
  if (!(*done)->error.empty()) return llvm::createStringError((*done)->error);
  ++delivered_;
  std::optional<HostBatch> batch = handOver((*done)->job.slot, (*done)->job.batch, (*done)->skipped);
  if (crew_)
    if (auto error = sendOne()) return error;
  return batch;
}

}  // namespace

llvm::Expected<std::unique_ptr<Batches>> makeDataLoader(const Images& images, LoaderOptions options) {
  if (auto error = checkOptions(options)) return error;
  auto loader = std::make_unique<DataLoader>(images, std::move(options));
  if (auto error = loader->open()) return error;
  return std::unique_ptr<Batches>(std::move(loader));
}

}  // namespace expc::data
