#pragma once

// One rank's training of MobileNetV2: data, model, data parallelism and optimiser, put together once and then run step
// by step. Both kinds of trial use it.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/worker/data/images.h"
#include "runtime/worker/feed/feed.h"
#include "runtime/worker/io/safetensors.h"
#include "runtime/worker/model/mobilenet_v2.h"
#include "runtime/worker/optim/optimizer.h"
#include "runtime/worker/optim/schedule.h"
#include "runtime/worker/precision/grad_scaler.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/image/parallel.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/image/step_graph.h"
#include "runtime/worker/workload/stepping.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

class Training : public Stepping {
 public:
  /// Reads the data, builds the model from the trial's seed, connects the replicas and does one untimed all-reduce.
  /// `epochs` 0: the training images come round without end and only in full batches. Training that is restored begins
  /// with `first_epoch`. The context must live longer.
  static llvm::Expected<std::unique_ptr<Training>> create(TrialContext& context, const Parameters& parameters,
                                                          int64_t epochs, int64_t first_epoch = 0);

  /// What a training has to remember between two steps: the model apart, for others to read.
  struct Snapshot {
    std::vector<model::NamedTensor> model, rest;
    llvm::json::Object numbers;
  };
  /// Every rank calls it; the tensors are the training's own and change with the next step.
  Snapshot snapshot();
  /// Goes on from a snapshot that another training of the same trial wrote, as if that one had not stopped. Every rank
  /// calls it, before the first step. An error says what does not fit.
  llvm::Error restore(const io::SafeTensors& model, const io::SafeTensors& rest, const llvm::json::Object& numbers);

  /// One step on the next batch of this rank. False after the last epoch's last batch.
  llvm::Expected<bool> step() override;
  int64_t stepsPerEpoch() const { return steps_per_epoch_; }
  /// Training images so far that could not be decoded and were replaced. Every rank calls it.
  int64_t skippedByAll();
  double loadWaitSeconds() const override { return feed_->waitSeconds(); }
  /// The longest that this rank waited for the first batch of an epoch behind another; nothing before a second one.
  std::optional<double> epochPause() const { return epoch_pause_; }
  /// The longest from an evaluation's beginning to its first batch.
  std::optional<double> evaluationPause() const { return evaluation_pause_; }

  /// Mean losses over the ranks of the steps since the last call. An error names the first step whose loss is not
  /// finite. Waits for the device, talks to the other ranks.
  llvm::Expected<std::vector<double>> takeLosses() override;

  /// Share of images that the model classifies correctly in evaluation mode, each image once over all ranks; with
  /// on_corrupt = skip of those that can be decoded, and a note says how many cannot be. An error where none can.
  llvm::Expected<double> accuracy(const data::Images& images);
  const std::vector<std::string>& notes() const override { return notes_; }
  /// Adds how the steps were queued.
  void describe(llvm::json::Object& environment) const;
  const data::Images& trainImages() const { return *sets_.train; }
  const data::Images& testImages() const { return *sets_.test; }

 private:
  Training(TrialContext& context, const Parameters& parameters)
      : context_(context),
        parameters_(parameters),
        tensor_float_32_(parameters.precision == precision::Precision::Tf32) {}
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

  TrialContext& context_;
  Parameters parameters_;
  precision::TensorFloat32 tensor_float_32_;
  std::unique_ptr<StepGraph> graph_;  // before the others, which are made on its stream; null: none
  data::ImageSets sets_;
  std::unique_ptr<feed::Feed> feed_;
  std::unique_ptr<model::MobileNetV2> model_;
  std::vector<at::Tensor> weights_;
  std::unique_ptr<Parallel> parallel_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::Schedule schedule_;
  std::unique_ptr<precision::GradScaler> scaler_;
  std::vector<at::Tensor> losses_;
  std::optional<profile::Range> epoch_range_;
  std::optional<double> waited_;  // at the end of the last epoch, until the next one has a batch
  std::optional<double> epoch_pause_, evaluation_pause_;
  std::vector<std::string> notes_;
  int64_t steps_per_epoch_ = 0;
  int64_t steps_done_ = 0;
};

}  // namespace expc::workload::image
