#pragma once

// Which images one process loads, by strategy (docs/semantics.md §9).

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/worker/workload/image/parameters.h"

namespace expc::workload::image {

/// The part of every global batch that a process loads. Whatever the strategy, device d of W trains on the same images
/// of a whole batch, those that torch's DistributedSampler gives rank d: levels of `strategy` differ in how they do the
/// work, not in the draw.
struct Portion {
  /// `gpus` devices, `batch` images for each in a step, `count` training images; `process` of those that the strategy
  /// starts.
  static Portion of(Strategy strategy, int64_t gpus, int64_t batch, int64_t process, int64_t count, uint64_t seed);

  std::function<std::vector<int64_t>(int64_t epoch)> order;
  int64_t images = 0;  // of an epoch, loaded by this process
  int64_t batch = 0;   // loaded by this process for a step
  int64_t slice = 0;   // of a loaded batch, this slice of `slices` is trained on by this process
  int64_t slices = 1;
  /// The epoch's short last batch would leave a device a single image, whose batch norm has no variance.
  bool tail_is_single = false;
};

}  // namespace expc::workload::image
