#include "runtime/worker/workload/image/step_graph.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <utility>

namespace expc::workload::image {

llvm::Error StepGraph::record(const at::Tensor& images, const at::Tensor& labels, std::vector<at::Tensor> weights,
                              const Work& work) {
  images_ = at::empty_like(images);
  labels_ = at::empty_like(labels);
  try {
    graph_->record([&] { loss_ = work(images_, labels_); });
  } catch (const device::NotRecorded& error) {
    return llvm::createStringError(
        fmt::format("the step cannot be recorded as a CUDA graph: {}; kernels = plain queues it operator by operator",
                    error.what()));
  }
  weights_ = std::move(weights);
  for (const at::Tensor& weight : weights_) gradients_.push_back(weight.grad());
  return llvm::Error::success();
}

at::Tensor StepGraph::launch(const at::Tensor& images, const at::Tensor& labels) {
  at::NoGradGuard no_grad;
  images_.copy_(images, /*non_blocking=*/true);
  labels_.copy_(labels, /*non_blocking=*/true);
  graph_->launch();
  if (communicator_.worldSize() > 1) communicator_.watchQueued(graph_->ended());
  for (size_t i = 0; i < weights_.size(); ++i) weights_[i].mutable_grad() = gradients_[i];
  return loss_.clone();
}

}  // namespace expc::workload::image
