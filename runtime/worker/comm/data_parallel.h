#pragma once

// Data-parallel training as in DistributedDataParallel (docs/semantics.md §9): replicas start equal
// and stay equal, because every backward pass leaves the mean of all ranks' gradients in each. The
// reduction overlaps with the backward pass (c10d's Reducer).

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/worker/comm/communicator.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace expc::comm {

/// Sizes in bytes; the defaults are those of PyTorch's DistributedDataParallel.
struct DataParallelOptions {
  /// The bucket that becomes ready first is small, so that communication starts early.
  int64_t first_bucket_bytes = 1 << 20;
  int64_t bucket_bytes = 25 << 20;
  size_t broadcast_bytes = 250 << 20;
};

/// The replicas of one model, one on each rank.
class DataParallel {
 public:
  /// Copies rank 0's parameters and buffers to the others, and hooks into the parameters'
  /// gradients. The communicator must outlive it.
  DataParallel(Communicator& communicator, std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers,
               const DataParallelOptions& options = {});
  /// Removes the hooks; sends nothing.
  ~DataParallel() = default;
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// Call it before every forward pass in training. Buffers are copied from rank 0, and after the
  /// first step buckets are laid out again unless settle() has done that.
  void beforeForward();
  /// Call it after the first backward pass, before time is measured: lays buckets out in the order
  /// in which gradients came. Waits for the device.
  void settle();
  /// Copies rank 0's buffers to all ranks; every rank calls it. Needed before an evaluation, so
  /// that all ranks judge the same model.
  void shareBuffers();
  /// Call it between forward and backward pass: the backward pass then reduces the gradients.
  void beforeBackward();

  /// The bytes of each bucket, and the indices of its parameters.
  std::vector<int64_t> bucketBytes() const;
  std::vector<std::vector<size_t>> bucketParameters() const;

 private:
  Communicator& communicator_;
  const std::vector<at::Tensor> buffers_;
  const DataParallelOptions options_;
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // knows the buckets; logs nothing here
};

}  // namespace expc::comm
