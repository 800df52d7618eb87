#pragma once

// What our loaders do alike: epochs' orders cut into batches, one item of a batch read, prepared and put in its place,
// and what stands around those that each takes in its own way.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/images/batches.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/preparer.h"
#include "runtime/data/images/slots.h"

namespace expc::data {

/// Batches an epoch of `items` gives.
inline int64_t batchesPerEpoch(int64_t items, int64_t batch, bool drop_last) {
  return drop_last ? items / batch : (items + batch - 1) / batch;
}

using Order = std::shared_ptr<const std::vector<int64_t>>;

/// A batch before it is prepared: `count` items of its epoch's order from `begin`.
struct PlannedBatch {
  Order order;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t epoch = 0;
  int64_t number = 0;  // in its epoch, from 0
  bool last = false;   // the epoch's last
};

/// What a loader hands over for it, but for the memory.
inline HostBatch delivered(const PlannedBatch& planned) {
  return {.count = planned.count, .epoch = planned.epoch, .number = planned.number, .last = planned.last};
}

/// Goes through the epochs batch by batch. `options` must live longer.
class BatchPlan {
 public:
  explicit BatchPlan(const LoaderOptions& options) : options_(options), epoch_(options.first_epoch - 1) {}

  /// Goes on to the next epoch that has a batch: its order, or null after the last epoch. An error when an order cannot
  /// be made, or when an endless plan meets an epoch without a batch.
  llvm::Expected<Order> beginEpoch();
  /// Whether the epoch has another batch.
  bool hasNext() const { return number_ < batches_; }
  /// The epoch's next batch.
  PlannedBatch next();

 private:
  const LoaderOptions& options_;
  Order order_;
  int64_t epoch_, number_ = 0, batches_ = 0;
};

/// Writes single items of a batch. Safe from several threads at once. `images` must live longer.
class ItemWriter {
 public:
  ItemWriter(const Images& images, const LoaderOptions& options, bool past_caches = false)
      : images_(images), preparer_(options.preparation, past_caches), on_corrupt_(options.on_corrupt) {}

  /// Writes the image at `position` of an epoch's order, and its label. The error names the image.
  ///
  /// With OnCorrupt::Replace an image that cannot be read is replaced by the next one of `order` that can be, label
  /// included, from the order's start again after its end, and of the set where none of the order can be: ranks share a
  /// set as its order falls out. Nothing else moves, so every other place keeps its image whatever worker prepares it,
  /// and that next image comes once more at its own place. It is an error when no image of the set can be read. With it
  /// and with OnCorrupt::LeaveOut `skipped` grows by one. What throws is an error too.
  llvm::Error write(const std::vector<int64_t>& order, int64_t position, void* image, int64_t* label,
                    std::vector<uint8_t>& scratch, int64_t& skipped) const;

  size_t imageBytes() const { return preparer_.preparation().imageBytes(); }

 private:
  const Images& images_;
  Preparer preparer_;
  OnCorrupt on_corrupt_;
};

/// What is wrong with the options of any loader: no order, nothing in a batch or ahead, images too large for any
/// memory.
llvm::Error checkOptions(const LoaderOptions& options);

/// The first error comes again at every later call.
class Loader : public Batches {
 public:
  llvm::Expected<std::optional<HostBatch>> next() final;
  double waitSeconds() const final { return wait_seconds_; }
  int64_t skipped() const final { return skipped_; }

 protected:
  /// `held`: slots that the caller may keep.
  explicit Loader(unsigned held) : held_(held) {}

  /// The next batch in order, or nothing after the last.
  virtual llvm::Expected<std::optional<HostBatch>> take() = 0;
  /// After the first error: nothing is taken any more.
  virtual void stop() {}
  /// What lies in a slot of out_, of which `skipped` images could not be decoded.
  HostBatch handOver(size_t slot, const PlannedBatch& planned, int64_t skipped);

  std::shared_ptr<Slots> out_;  // where batches are handed over; null where each has memory of its own

 private:
  const unsigned held_;
  std::string failure_;
  double wait_seconds_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace expc::data
