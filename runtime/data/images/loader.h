#pragma once

// The parts that both of our loaders share: cutting the orders of epochs into batches (BatchPlan), reading and
// preparing one image of a batch (ItemWriter), checking options, and the bookkeeping around next() (Loader).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/batches.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/preparer.h"
#include "runtime/data/images/slots.h"

namespace expc::data {

/// The number of batches that `items` images give in an epoch.
inline int64_t batchesPerEpoch(int64_t items, int64_t batch, bool drop_last) {
  return drop_last ? items / batch : (items + batch - 1) / batch;
}

/// The order of an epoch's images, shared by all its batches.
using Order = std::shared_ptr<const std::vector<int64_t>>;

/// A batch that is to be prepared: `count` images of its epoch's order, from position `begin`.
struct PlannedBatch {
  Order order;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t epoch = 0;
  int64_t number = 0;  // in its epoch, from 0
  bool last = false;   // the epoch's last
};

/// The finished batch without its memory.
inline HostBatch delivered(const PlannedBatch& planned) {
  return {.count = planned.count, .epoch = planned.epoch, .number = planned.number, .last = planned.last};
}

/// Walks through the epochs batch by batch. Not safe for several threads. `options` must outlive it.
class BatchPlan {
 public:
  explicit BatchPlan(const LoaderOptions& options) : options_(options), epoch_(options.first_epoch - 1) {}

  /// Goes on to the next epoch that has a batch and returns its order; null after the last epoch. An error if an order
  /// cannot be made, or if an endless plan meets an epoch without a batch, which would loop for ever.
  Expected<Order> beginEpoch();
  /// Whether the current epoch has another batch.
  bool hasNext() const { return number_ < batches_; }
  /// The current epoch's next batch; hasNext() must hold.
  PlannedBatch next();

 private:
  const LoaderOptions& options_;
  Order order_;
  int64_t epoch_, number_ = 0, batches_ = 0;
};

/// Reads and prepares single images of a batch. Safe for several threads. `images` must outlive it.
class ItemWriter {
 public:
  /// `past_caches` as for Preparer.
  ItemWriter(const Images& images, const LoaderOptions& options, bool past_caches = false)
      : images_(images), preparer_(options.preparation, past_caches), on_corrupt_(options.on_corrupt) {}

  /// Writes the image at `position` of an epoch's order to `image`, and its label to `label`. The error names the
  /// image; exceptions become errors too, since threads may not throw.
  ///
  /// OnCorrupt::Replace puts the next image of `order` that can be read in the place of one that cannot, with its
  /// label. The order starts again after its end. If none of it can be read, the first image of the set that can takes
  /// the place, since a rank's part of a set may happen to hold only broken images. Nothing else moves, so every other
  /// place keeps its image whichever worker prepares it; the replacement occurs once more at its own place. It is an
  /// error if no image of the set can be read. Replaced and left-out images raise `skipped` by one.
  Error write(const std::vector<int64_t>& order, int64_t position, void* image, int64_t* label,
              std::vector<uint8_t>& scratch, int64_t& skipped) const;

  /// Bytes of one prepared image.
  size_t imageBytes() const { return preparer_.preparation().imageBytes(); }

 private:
  const Images& images_;
  Preparer preparer_;
  OnCorrupt on_corrupt_;
};

/// Checks options that any loader needs: an order, a batch, something ahead, and images and batches that memory can
/// hold.
Error checkOptions(const LoaderOptions& options);

/// The base of our loaders. Measures the time in next(), bounds the batches that are held, and repeats the first error
/// at every later call.
class Loader : public Batches {
 public:
  Expected<std::optional<HostBatch>> next() final;
  double waitSeconds() const final { return wait_seconds_; }
  int64_t skipped() const final { return skipped_; }

 protected:
  /// `held`: the number of batches that the caller may keep.
  explicit Loader(unsigned held) : held_(held) {}

  /// The next batch in order; nothing after the last.
  virtual Expected<std::optional<HostBatch>> take() = 0;
  /// Called once after the first error; take() is not called again.
  virtual void stop() {}
  /// The finished batch in a slot of out_. `skipped` of its images could not be decoded.
  HostBatch handOver(size_t slot, const PlannedBatch& planned, int64_t skipped);

  std::shared_ptr<Slots> out_;  // finished batches; null if each batch has memory of its own

 private:
  const unsigned held_;
  std::string failure_;
  double wait_seconds_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace expc::data
