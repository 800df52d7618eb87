#pragma once

// The step of a training as one graph of its device: `kernels = fused` on a GPU.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/device/device.h"

namespace expc::workload::image {

/// A part of a step that begins with a batch, for batches of one shape. Recorded, it reads the batch from a place of
/// its own and leaves loss and gradients in places of its own.
class StepGraph {
 public:
  /// What is recorded: from images and labels to the loss.
  using Work = std::function<at::Tensor(const at::Tensor& images, const at::Tensor& labels)>;

  /// The communicator must live longer.
  StepGraph(std::unique_ptr<device::Graph> graph, comm::Communicator& communicator)
      : graph_(std::move(graph)), communicator_(communicator) {}

  bool recorded() const { return loss_.defined(); }
  /// What record() met that cannot be recorded, on some rank; "": nothing, so far.
  const std::string& refusal() const { return refusal_; }
  /// Records `work`, which leaves gradients in the weights, for batches like this one, on which it has run. Every rank
  /// calls it in the same step. Where one cannot record it none does, so that all queue their steps alike: false, and
  /// what the work was built on may have been left half-way.
  bool record(const at::Tensor& images, const at::Tensor& labels, std::vector<at::Tensor> weights, const Work& work);
  /// Queues a copy of the batch and the work. Returns the loss, which the next launch leaves alone; the weights have
  /// their gradients until then.
  at::Tensor launch(const at::Tensor& images, const at::Tensor& labels);
  /// Gives up what was recorded, and its memory; another batch may be recorded then.
  void drop();
  /// Kernels, copies and the like in a launch.
  size_t nodes() const { return graph_->nodes(); }

 private:
  std::unique_ptr<device::Graph> graph_;
  comm::Communicator& communicator_;
  std::vector<at::Tensor> weights_, gradients_;
  at::Tensor images_, labels_, loss_;
  std::string refusal_;
};

}  // namespace expc::workload::image
