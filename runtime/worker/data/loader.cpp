#include "runtime/worker/data/loader.h"

#include <fmt/format.h>

#include <chrono>

#include "runtime/base/failure.h"

namespace expc::data {

llvm::Expected<std::optional<HostBatch>> Loader::next() {
  if (!failure_.empty()) return llvm::createStringError(failure_);
  if (out_ && out_->held() >= held_)
    return base::failure("loader: {} batches are still held, at most {} may be; release one first", out_->held(),
                         held_);
  const auto start = std::chrono::steady_clock::now();
  auto batch = take();
  wait_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (batch) return batch;
  failure_ = llvm::toString(batch.takeError());
  stop();
  return llvm::createStringError(failure_);
}

HostBatch Loader::handOver(size_t slot, const PlannedBatch& planned, int64_t skipped) {
  skipped_ += skipped;
  HostBatch batch = delivered(planned);
  batch.images = out_->images(slot);
  batch.labels = out_->labels(slot);
  batch.holder = out_->holder(slot);
  return batch;
}

}  // namespace expc::data
