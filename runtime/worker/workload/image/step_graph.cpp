#include "runtime/worker/workload/image/step_graph.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <utility>

namespace expc::workload::image {

bool StepGraph::record(const at::Tensor& images, const at::Tensor& labels, std::vector<at::Tensor> weights,
                       const Work& work) {
  images_ = at::empty_like(images);
  labels_ = at::empty_like(labels);
  try {
    graph_->record([&] { loss_ = work(images_, labels_); });
  } catch (const device::NotRecorded& error) {
    refusal_ = error.what();
  }
  if (communicator_.allReduce(refusal_.empty() ? 0.0 : 1.0, comm::Reduction::Max) > 0) {
    if (refusal_.empty()) refusal_ = "another rank could not record its own";
    for (const at::Tensor& weight : weights) weight.mutable_grad().reset();
    drop();
    return false;
  }
  weights_ = std::move(weights);
  for (const at::Tensor& weight : weights_) gradients_.push_back(weight.grad());
  return true;
}

void StepGraph::drop() {
  images_ = labels_ = loss_ = at::Tensor();
  gradients_.clear();
  graph_->drop();
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
