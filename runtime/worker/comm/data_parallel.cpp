// Data parallelism by c10d's Reducer, the part of DistributedDataParallel that is C++. Python's
// wrapper around it is repeated here: the first broadcast, the broadcast of buffers before each
// forward pass, and the new layout of buckets after the first step.

#include "runtime/worker/comm/data_parallel.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <limits>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <utility>

#include "runtime/worker/comm/process_group.h"

namespace expc::comm {

DataParallel::DataParallel(Communicator& communicator, std::vector<at::Tensor> parameters,
                           std::vector<at::Tensor> buffers, const DataParallelOptions& options)
    : communicator_(communicator), buffers_(std::move(buffers)), options_(options) {
  // Replicas start equal: rank 0's parameters and buffers go to all.
  std::vector<at::Tensor> all;
  for (const auto& parameter : parameters) all.push_back(parameter.detach());
  llvm::append_range(all, buffers_);
  communicator.broadcastAll(all, 0, options.broadcast_bytes);

  // Start with a single bucket. Only a backward pass shows in which order gradients become ready,
  // and buckets follow it.
  const std::vector<bool> sparse(parameters.size(), false);
  auto buckets =
      // The Reducer expects buckets in the order in which they become ready, last layers first.
      std::get<0>(c10d::compute_bucket_assignment_by_size(parameters, {std::numeric_limits<size_t>::max()}, sparse));
  std::ranges::reverse(buckets);
  guarded(communicator.group(), "the set-up of data parallelism", [&] {
    reducer_ = std::make_shared<c10d::Reducer>(
        std::move(parameters), std::move(buckets), communicator.group().processes, sparse, options.bucket_bytes,
        /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false, std::unordered_map<size_t, std::string>{},
        options.first_bucket_bytes, /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<int64_t>{});
    logger_ = std::make_shared<c10d::Logger>(reducer_);
  });
}

void DataParallel::beforeForward() {
  guarded(communicator_.group(), "the start of a step", [&] {
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();
  });
  shareBuffers();
}

void DataParallel::settle() {
  guarded(communicator_.group(), "the layout of buckets", [&] { reducer_->rebuild_buckets(); });
}

void DataParallel::shareBuffers() { communicator_.broadcastAll(buffers_, 0, options_.broadcast_bytes); }

void DataParallel::beforeBackward() {
  // The gradients are reduced from inside the backward pass, without a call of ours; the watch
  // shall name that.
  if (Watch* watch = communicator_.group().watch.get()) watch->nowIn("a backward pass");
  reducer_->prepare_for_backward({});
}

std::vector<int64_t> DataParallel::bucketBytes() const { return logger_->get_bucket_sizes(); }

std::vector<std::vector<size_t>> DataParallel::bucketParameters() const {
  return logger_->get_per_bucket_variable_indices();
}

}  // namespace expc::comm
