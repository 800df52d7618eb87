#pragma once

// One rank's training of MobileNetV2: data, model, data parallelism and optimiser, put together once and then run
// step by step. mobilenet_v2.cpp has the parts about metrics and checkpoints, training.cpp those about steps.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/images.h"
#include "runtime/data/model/safetensors.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/model/mobilenet_v2.h"
#include "runtime/worker/model/optimizer.h"
#include "runtime/worker/model/precision.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/image/feed.h"
#include "runtime/worker/workload/image/parallel.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload::image {

/// A step of a training as one graph of its device (`kernels = fused` on a GPU), for batches of one shape. A graph
/// queues all its kernels with one call, which saves the host's time. It always reads the batch from the same memory,
/// and leaves loss and gradients in the same memory.
class StepGraph {
 public:
  /// The work that is recorded: from images and labels to the loss.
  using Work = std::function<at::Tensor(const at::Tensor& images, const at::Tensor& labels)>;

  /// The communicator must outlive the object.
  StepGraph(std::unique_ptr<device::Graph> graph, comm::Communicator& communicator)
      : graph_(std::move(graph)), communicator_(communicator) {}

  /// Whether launch() may be called.
  bool recorded() const { return loss_.defined(); }
  /// The reason why some rank could not record; "" so far if there is none.
  const std::string& refusal() const { return refusal_; }
  /// Records `work`, which leaves gradients in the weights. It must have run before on a batch of this shape, so that
  /// whatever it sets up once is there. A collective, in the same step on every rank: if one cannot record, none
  /// does, so that all queue their steps alike. Returns false then, and whatever the work was built on may be left
  /// half-way.
  bool record(const at::Tensor& images, const at::Tensor& labels, std::vector<at::Tensor> weights, const Work& work);
  /// Queues a copy of the batch and the recorded work. Returns a copy of the loss. The weights' gradients are valid
  /// until the next launch.
  at::Tensor launch(const at::Tensor& images, const at::Tensor& labels);
  /// Gives up the recording and its memory; another one may follow.
  void drop();
  /// Kernels, copies and other nodes of a launch.
  size_t nodes() const { return graph_->nodes(); }

 private:
  std::unique_ptr<device::Graph> graph_;
  comm::Communicator& communicator_;
  std::vector<at::Tensor> weights_, gradients_;
  at::Tensor images_, labels_, loss_;
  std::string refusal_;
};

/// The training of image.mobilenet_v2.
class Training : public workload::Training {
 public:
  /// The metrics that trials of each kind measure.
  static std::vector<Metric> metrics();
  /// Reads the data, builds the model from the trial's seed, connects the replicas and does one untimed all-reduce.
  /// With `epochs` 0 training images come round without end, in full batches only. A training that is restored
  /// afterwards begins with `first_epoch`. The context must outlive it.
  static Expected<std::unique_ptr<Training>> create(TrialContext& context, const Parameters& parameters, int64_t epochs,
                                                    int64_t first_epoch = 0);

  /// Returns false after the last epoch's last batch.
  Expected<bool> step() override;
  int64_t stepsPerEpoch() const override { return steps_per_epoch_; }
  double loadWaitSeconds() const override { return feed_->waitSeconds(); }
  void describe(json::Object& environment) const override;
  std::vector<profile::Measure> measure(const Clocked& clocked, int64_t steps) override;
  Snapshot snapshot() override;
  Error restore(const safetensors::File& model, const safetensors::File& rest, const Done& done) override;
  json::Object counts() const override;
  int64_t evaluatesEvery() const override { return stepsPerEpoch(); }
  /// Classifies the test images.
  Error addEvaluation(Course& course) override;
  Expected<QualityResult> judge(Course& course) override;
  Expected<std::vector<std::string>> leave(const CheckpointFolder& folder, int64_t epochs) override;

 private:
  Training(TrialContext& context, const Parameters& parameters)
      : workload::Training(context), parameters_(parameters) {}
  double partsOfLoss() const override { return context_.communicator.worldSize(); }
  /// Opens the step's graph, if this trial may have one.
  void openGraph();
  /// `resumed`: a checkpoint's weights follow, so initial ones need not be loaded.
  Error buildModel(bool resumed);
  /// Loads the parameter `initial_weights`; an error names the file and what does not fit.
  Error loadInitialWeights();
  /// Brings the reducer into the state that it has after a first pass (before restore()).
  void rehearse();
  /// The places of dp's replicas, one for each slot of this process.
  std::vector<ReplicaPlace> replicaPlaces() const;
  /// `epochs` 0: a constant rate, for trials that are timed.
  void buildOptimizer(int64_t epochs);
  /// Holds the images in memory as tensors, if the parameters ask for it.
  Error preload();
  /// Starts loading this process's portion of the images, and finds the number of steps in an epoch.
  Error startFeed(int64_t epochs, int64_t first_epoch);
  feed::FeedOptions feedOptions() const;
  /// Forward and backward pass. Returns the loss; the weights' gradients are then what update() needs.
  at::Tensor computeGradients(const at::Tensor& images, const at::Tensor& labels);
  /// The optimiser's update from the weights' gradients; in fp16 it is left out if they overflow.
  void update();
  /// A whole step, by the graph if there is one.
  at::Tensor train(const feed::DeviceBatch& batch);
  /// A feed apart from the training's, which gives each image once in each of `passes` over all ranks; 0: without end.
  Expected<std::unique_ptr<feed::Feed>> evaluationFeed(const data::Images& images, int64_t passes);
  /// The share of images that the model classifies correctly in evaluation mode; each image counts once over all
  /// ranks. With on_corrupt = skip images that cannot be decoded are left out, and a note says how many; an error if
  /// none can be decoded. Adds the time on this rank to the course. A collective.
  Expected<double> accuracy(const data::Images& images, Course& course);

  Parameters parameters_;
  std::unique_ptr<StepGraph> graph_;  // made first, because all else uses its stream; null: no graph
  data::ImageSets sets_;
  std::unique_ptr<feed::Feed> feed_;
  /// DALI's for the test images, kept from one evaluation to the next as a script keeps its iterator; null for other
  /// loaders, whose workers begin anew with each evaluation.
  std::unique_ptr<feed::Feed> test_feed_;
  std::unique_ptr<model::MobileNetV2> model_;
  std::vector<at::Tensor> weights_;
  std::unique_ptr<Parallel> parallel_;
  std::unique_ptr<optimizer::Optimizer> optimizer_;
  optimizer::Schedule schedule_;
  std::unique_ptr<precision::GradScaler> scaler_;
  std::optional<double> waited_;  // wait time at the end of the last epoch, until the next one has a batch
  /// The longest wait for the first batch of an epoch that follows another; nothing before there was one.
  std::optional<double> epoch_pause_;
  std::optional<double> evaluation_pause_;  // the longest time from the start of an evaluation to its first batch
  int64_t steps_per_epoch_ = 0;
};

/// The workload image.mobilenet_v2 (stdlib/image.exp).
Workload mobilenetV2();

}  // namespace expc::workload::image
