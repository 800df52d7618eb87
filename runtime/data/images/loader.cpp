// The shared parts of our loaders (loader.h).

#include "runtime/data/images/loader.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"

namespace expc::data {

Expected<Order> BatchPlan::beginEpoch() {
  while (options_.epochs == 0 || epoch_ + 1 < options_.first_epoch + options_.epochs) {
    // The sampler is the caller's code and may throw, for example when memory is short.
    try {
      order_ = std::make_shared<const std::vector<int64_t>>(options_.order(++epoch_));
    } catch (const std::exception& error) {
      return failure("loader: cannot order the items of epoch {}: {}", epoch_, error.what());
    }
    const auto items = std::ssize(*order_);
    number_ = 0;
    // An epoch without a batch is skipped, as a loop over an empty DataLoader would be.
    batches_ = batchesPerEpoch(items, options_.batch, options_.drop_last);
    if (batches_ > 0) return order_;
    if (options_.epochs == 0)
      return failure("loader: {} items for this rank give no batch of {}; use a smaller batch or fewer ranks", items,
                     options_.batch);
  }
  return Order();
}

PlannedBatch BatchPlan::next() {
  assert(hasNext());
  const int64_t number = number_++, begin = number * options_.batch;
  const int64_t count = std::min<int64_t>(options_.batch, std::ssize(*order_) - begin);
  return {order_, begin, count, epoch_, number, number_ == batches_};
}

Error ItemWriter::write(const std::vector<int64_t>& order, int64_t position, void* image, int64_t* label,
                        std::vector<uint8_t>& scratch, int64_t& skipped) const try {
  const auto count = std::ssize(order);
  std::string first;
  // First all images of the order, beginning at the wanted one, then all images of the set.
  for (int64_t tried = 0; tried < count + images_.count(); ++tried) {
    const int64_t index = tried < count ? order[(position + tried) % count] : tried - count;
    if (index < 0 || index >= images_.count())
      return failure("{}: image {} asked for, expected 0 to {}", images_.origin(), index, images_.count() - 1);
    Error error = preparer_.fill(images_, index, image, scratch);
    if (!error) {
      *label = images_.label(index);
      skipped += tried > 0 ? 1 : 0;
      return Error::success();
    }
    // Errors of the machine (a file that cannot be opened) are never passed over: the next image would fail as well.
    if (on_corrupt_ == OnCorrupt::Fail || !error.isA<CorruptImage>()) return error;
    if (on_corrupt_ == OnCorrupt::LeaveOut) {
      consumeError(std::move(error));
      std::memset(image, 0, imageBytes());
      *label = kLeftOut;
      ++skipped;
      return Error::success();
    }
    // The message is kept for the case that no image can be read.
    std::string message = toString(std::move(error));
    if (tried == 0) first = std::move(message);
  }
  return failure("{}: none of the {} images could be decoded; the first: {}", images_.origin(), images_.count(), first);
} catch (const std::exception& error) {
  return failure("preparing a batch failed: {}", error.what());
}

Error checkOptions(const LoaderOptions& options) {
  const Preparation& wanted = options.preparation;
  if (options.held < 1 || (options.workers > 0 && options.prefetch < 1))
    return failure("loader: prefetch and held of at least 1 are needed");
  if (!options.order || options.batch < 1) return failure("loader: an order and a batch of at least 1 are needed");
  constexpr int64_t kMostSide = int64_t{1} << 16;
  if (wanted.rows < 1 || wanted.cols < 1 || wanted.rows > kMostSide || wanted.cols > kMostSide ||
      (wanted.channels != 1 && wanted.channels != 3))
    return failure(
        "loader: images of {} x {} pixels and {} channels cannot be prepared; sides go from 1 to {}, "
        "channels are 1 or 3",
        wanted.rows, wanted.cols, wanted.channels, kMostSide);
  // Above this no allocation can work, and products of sizes would overflow.
  constexpr int64_t kMostBytes = int64_t{1} << 40;
  const auto bytes = int64_t(wanted.imageBytes());
  if (options.batch > kMostBytes / std::max<int64_t>(bytes, sizeof(int64_t)))
    return failure("loader: no memory for batches of {} items of {} bytes; lower batch or size", options.batch, bytes);
  return Error::success();
}

Expected<std::optional<HostBatch>> Loader::next() {
  if (!failure_.empty()) return failure("{}", failure_);
  // All slots are held: waiting for one that only the caller can release would never end.
  if (out_ && out_->held() >= held_)
    return failure("loader: {} batches are still in use, at most {} may be; release one first", out_->held(), held_);
  // The wait is measured here, around the whole call, so that it means the same for every loader.
  const auto start = base::Clock::now();
  auto batch = take();
  wait_seconds_ += base::secondsSince(start);
  if (batch) return batch;
  failure_ = toString(batch.takeError());
  stop();
  return failure("{}", failure_);
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
