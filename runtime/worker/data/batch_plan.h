#pragma once

// Which items make which batch: epochs' orders cut into batches.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/worker/data/batches.h"

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
  int64_t epoch() const { return epoch_; }
  /// Whether the epoch has another batch.
  bool hasNext() const { return number_ < batches_; }
  /// The epoch's next batch.
  PlannedBatch next();

 private:
  const LoaderOptions& options_;
  Order order_;
  int64_t epoch_, number_ = 0, batches_ = 0;
};

/// What is wrong with the options of any loader: no order, nothing in a batch or ahead, images too large for any
/// memory.
llvm::Error checkOptions(const LoaderOptions& options);

}  // namespace expc::data
