#pragma once

// DistributedDataParallel (docs/semantics.md §9): replicas that start equal and stay equal, because every backward pass
// leaves the mean of all ranks' gradients. Reduction overlaps with the backward pass (c10d's Reducer).

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/worker/comm/communicator.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace expc::comm {

struct DataParallelOptions {
  int64_t first_bucket_bytes = 1 << 20;
  int64_t bucket_bytes = 25 << 20;
  size_t broadcast_bytes = 250 << 20;
};

class DataParallel {
 public:
  /// Copies rank 0's parameters and buffers to the others and hooks into the parameters' gradients. The communicator
  /// must live longer.
  DataParallel(Communicator& communicator, std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers,
               const DataParallelOptions& options = {});
  /// Removes the hooks; sends nothing.
  ~DataParallel() = default;
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// In front of every forward pass in training: buffers come from rank 0, and buckets are laid out again after the
  /// first step, unless settle() has done that.
  void beforeForward();
  /// After the first backward pass: lays buckets out in the order in which gradients came. Waits for the device.
  void settle();
  /// Rank 0's buffers to all ranks; every rank calls it. For evaluation, so that all ranks judge the same model.
  void shareBuffers();
  /// Between forward and backward: the backward pass that follows reduces the gradients.
  void beforeBackward();

  /// Bytes in each bucket, and the indices of its parameters.
  std::vector<int64_t> bucketBytes() const;
  std::vector<std::vector<size_t>> bucketParameters() const;

 private:
  Communicator& communicator_;
  const std::vector<at::Tensor> buffers_;
  const DataParallelOptions options_;
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // knows the buckets; nothing is logged
};

}  // namespace expc::comm
