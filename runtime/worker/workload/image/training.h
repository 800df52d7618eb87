#pragma once

// One rank's training of MobileNetV2: data, model, data parallelism and optimiser, put together once and then run step
// by step. Both kinds of trial use it.

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/worker/comm/data_parallel.h"
#include "runtime/worker/data/loader.h"
#include "runtime/worker/data/source.h"
#include "runtime/worker/model/mobilenet_v2.h"
#include "runtime/worker/optim/optimizer.h"
#include "runtime/worker/precision/grad_scaler.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

class Training {
 public:
  /// Reads the data, builds the model from the trial's seed, connects the replicas and does one untimed all-reduce.
  /// `epochs` 0: the training images come round without end and only in full batches. The context must live longer.
  static llvm::Expected<std::unique_ptr<Training>> create(TrialContext& context, const Parameters& parameters,
                                                          int64_t epochs);

  /// One step on the next batch of this rank. False after the last epoch's last batch.
  llvm::Expected<bool> step();
  int64_t stepsPerEpoch() const { return steps_per_epoch_; }
  double loadWaitSeconds() const { return loader_->waitSeconds(); }

  /// Mean losses over the ranks of the steps since the last call. An error names the first step whose loss is not
  /// finite. Waits for the device, talks to the other ranks.
  llvm::Expected<std::vector<double>> takeLosses();

  /// Share of images that the model classifies correctly in evaluation mode, each image once over all ranks.
  llvm::Expected<double> accuracy(const data::ImageSet& set);
  const data::Dataset& dataset() const { return dataset_; }

 private:
  Training(TrialContext& context, const Parameters& parameters) : context_(context), parameters_(parameters) {}
  llvm::Error readData();
  void buildModel();
  void buildOptimizer();
  llvm::Error startLoader(int64_t epochs);
  at::Tensor imagesOf(const data::Batch& batch) const;
  at::Tensor labelsOf(const data::Batch& batch) const;
  std::unique_ptr<data::Source> prepared(const data::ImageSet& set) const;

  TrialContext& context_;
  Parameters parameters_;
  data::Dataset dataset_;
  std::unique_ptr<data::Source> train_source_;
  std::unique_ptr<data::Loader> loader_;
  std::unique_ptr<model::MobileNetV2> model_;
  std::vector<at::Tensor> weights_;
  std::unique_ptr<comm::DataParallel> parallel_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<precision::GradScaler> scaler_;
  std::vector<at::Tensor> losses_;
  int64_t steps_per_epoch_ = 0;
  int64_t steps_done_ = 0;
};

}  // namespace expc::workload::image
