#pragma once

// One rank's training of MobileNetV2: data, model, data parallelism and optimiser, put together once and then run step
// by step.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/images/images.h"
#include "runtime/data/io/safetensors.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/feed/feed.h"
#include "runtime/worker/model/mobilenet_v2.h"
#include "runtime/worker/optim/optimizer.h"
#include "runtime/worker/precision/precision.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/image/parallel.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload::image {

/// The step of a training as one graph of its device (`kernels = fused` on a GPU): a part of it that begins with a
/// batch, for batches of one shape. Recorded, it reads the batch from a place of its own and leaves loss and gradients
/// in places of its own.
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

class Training : public workload::Training {
 public:
  /// What trials of each kind measure.
  static std::vector<Metric> metrics();
  /// Reads the data, builds the model from the trial's seed, connects the replicas and does one untimed all-reduce.
  /// `epochs` 0: the training images come round without end and only in full batches. Training that is restored begins
  /// with `first_epoch`. The context must live longer.
  static llvm::Expected<std::unique_ptr<Training>> create(TrialContext& context, const Parameters& parameters,
                                                          int64_t epochs, int64_t first_epoch = 0);

  /// False after the last epoch's last batch.
  llvm::Expected<bool> step() override;
  int64_t stepsPerEpoch() const override { return steps_per_epoch_; }
  double loadWaitSeconds() const override { return feed_->waitSeconds(); }
  void describe(llvm::json::Object& environment) const override;
  std::vector<profile::Measure> measure(const Clocked& clocked, int64_t steps) override;
  Snapshot snapshot() override;
  llvm::Error restore(const io::SafeTensors& model, const io::SafeTensors& rest, const Done& done) override;
  llvm::json::Object counts() const override;
  bool evaluatesEpochs() const override { return true; }
  /// The test images classified.
  llvm::Error evaluateEpoch(Course& course) override;
  llvm::Expected<QualityResult> judge(Course& course) override;
  llvm::Expected<std::vector<std::string>> leave(const CheckpointFolder& folder, int64_t epochs) override;

 private:
  Training(TrialContext& context, const Parameters& parameters)
      : workload::Training(context), parameters_(parameters) {}
  double partsOfLoss() const override { return context_.communicator.worldSize(); }
  void openGraph();
  llvm::Error buildModel(bool resumed);
  llvm::Error loadInitialWeights();
  void rehearse();
  std::vector<ReplicaPlace> replicaPlaces() const;
  void buildOptimizer(int64_t epochs);
  /// Holds the images as tensors where that is asked for.
  llvm::Error preload();
  llvm::Error startFeed(int64_t epochs, int64_t first_epoch);
  feed::FeedOptions feedOptions() const;
  /// Forward and backward pass; what `update` needs is in the weights' gradients then. Returns the loss.
  at::Tensor computeGradients(const at::Tensor& images, const at::Tensor& labels);
  void update();
  /// All of that, by the graph where there is one.
  at::Tensor train(const feed::DeviceBatch& batch);
  /// Share of images that the model classifies correctly in evaluation mode, each image once over all ranks; with
  /// on_corrupt = skip of those that can be decoded, and a note says how many cannot be. An error where none can. The
  /// course has the time that it takes on this rank.
  llvm::Expected<double> accuracy(const data::Images& images, Course& course);

  Parameters parameters_;
  std::unique_ptr<StepGraph> graph_;  // before the others, which are made on its stream; null: none
  data::ImageSets sets_;
  std::unique_ptr<feed::Feed> feed_;
  std::unique_ptr<model::MobileNetV2> model_;
  std::vector<at::Tensor> weights_;
  std::unique_ptr<Parallel> parallel_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::Schedule schedule_;
  std::unique_ptr<precision::GradScaler> scaler_;
  std::optional<double> waited_;  // at the end of the last epoch, until the next one has a batch
  /// The longest that this rank waited for the first batch of an epoch behind another; nothing before a second one.
  std::optional<double> epoch_pause_;
  std::optional<double> evaluation_pause_;  // the longest from an evaluation's beginning to its first batch
  int64_t steps_per_epoch_ = 0;
};

/// image.mobilenet_v2 of stdlib/image.exp.
Workload mobilenetV2();

}  // namespace expc::workload::image
