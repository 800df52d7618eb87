#include "runtime/worker/comm/data_parallel.h"

#include <algorithm>
#include <limits>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <utility>

#include "runtime/worker/comm/process_group.h"

namespace expc::comm {

struct DataParallel::State {
  Communicator& communicator;
  std::vector<at::Tensor> buffers;
  DataParallelOptions options;
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;  // knows the buckets; nothing is logged
};

DataParallel::DataParallel(Communicator& communicator, std::vector<at::Tensor> parameters,
                           std::vector<at::Tensor> buffers, const DataParallelOptions& options)
    : state_(new State{communicator, std::move(buffers), options, nullptr, nullptr}) {
  std::vector<at::Tensor> all;
  for (const auto& parameter : parameters) all.push_back(parameter.detach());
  all.insert(all.end(), state_->buffers.begin(), state_->buffers.end());
  communicator.broadcastAll(all, 0, options.broadcast_bytes);

  // One bucket until the first backward pass has shown the order in which gradients come.
  const std::vector<bool> sparse(parameters.size(), false);
  auto buckets =
      std::get<0>(c10d::compute_bucket_assignment_by_size(parameters, {std::numeric_limits<size_t>::max()}, sparse));
  std::reverse(buckets.begin(), buckets.end());
  guarded(communicator.group(), "the set-up of data parallelism", [&] {
    state_->reducer = std::make_shared<c10d::Reducer>(
        std::move(parameters), std::move(buckets), communicator.group().processes, sparse, options.bucket_bytes,
        /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false, std::unordered_map<size_t, std::string>{},
        options.first_bucket_bytes, /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<int64_t>{});
    state_->logger = std::make_shared<c10d::Logger>(state_->reducer);
  });
}

DataParallel::~DataParallel() = default;

void DataParallel::beforeForward() {
  guarded(state_->communicator.group(), "the start of a step", [&] {
    state_->reducer->prepare_for_forward();
    state_->reducer->rebuild_buckets();
  });
  shareBuffers();
}

void DataParallel::settle() {
  guarded(state_->communicator.group(), "the layout of buckets", [&] { state_->reducer->rebuild_buckets(); });
}

void DataParallel::shareBuffers() {
  state_->communicator.broadcastAll(state_->buffers, 0, state_->options.broadcast_bytes);
}

void DataParallel::beforeBackward() {
  if (Watch* watch = state_->communicator.group().watch.get()) watch->nowIn("a backward pass");
  state_->reducer->prepare_for_backward({});
}

std::vector<int64_t> DataParallel::bucketBytes() const { return state_->logger->get_bucket_sizes(); }

std::vector<std::vector<size_t>> DataParallel::bucketParameters() const {
  return state_->logger->get_per_bucket_variable_indices();
}

}  // namespace expc::comm
