#include "runtime/worker/data/loader.h"

#include <fmt/format.h>

#include <chrono>

namespace expc::data {

llvm::Expected<std::optional<HostBatch>> Loader::next() {
  if (!failure_.empty()) return llvm::createStringError(failure_);
  if (out_->held() >= held_)
    return llvm::createStringError(
        fmt::format("loader: {} batches are still held, at most {} may be; release one first", out_->held(), held_));
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

llvm::Error checkOptions(const BatchOptions& options, const Memory& memory, unsigned workers, unsigned prefetch) {
  if (auto error = checkOptions(options)) return error;
  if (options.held < 1 || (workers > 0 && prefetch < 1))
    return llvm::createStringError("loader: prefetch and held of at least 1 are needed");
  if (options.pinned && !memory.allocate)
    return llvm::createStringError("loader: this device has no page-locked memory for batches");
  return llvm::Error::success();
}

}  // namespace expc::data
