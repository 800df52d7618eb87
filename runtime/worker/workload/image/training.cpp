#include "runtime/worker/workload/image/training.h"

#include <ATen/ATen.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

#include <cmath>
#include <mutex>

#include "runtime/worker/data/image_set.h"
#include "runtime/worker/data/sampler.h"

namespace expc::workload::image {

using precision::Precision;

namespace {

/// What cannot run, before anything is built.
llvm::Error checkSupport(const TrialContext& context, const Parameters& parameters) {
  if (parameters.gpus != context.spec.world_size) {
    return llvm::createStringError("parameter gpus is " + llvm::Twine(parameters.gpus) + ", the launcher started " +
                                   llvm::Twine(context.spec.world_size) + " ranks");
  }
  if (parameters.precision == Precision::Fp16 && context.device.torchDevice().is_cpu()) {
    return llvm::createStringError(
        "precision fp16 needs a GPU: the CPU's convolutions have no fp16 path worth measuring; use bf16, or "
        "leave the level out with `exclude`");
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<std::unique_ptr<Training>> Training::create(TrialContext& context, const Parameters& parameters,
                                                           int64_t epochs) {
  if (auto error = checkSupport(context, parameters)) return error;
  std::unique_ptr<Training> training(new Training(context, parameters));
  if (auto error = training->readData()) return error;
  if (auto error = training->startLoader(epochs)) return error;
  training->buildModel();
  training->buildOptimizer();
  // Communicators set their paths up at the first use.
  auto first = at::zeros({1}, at::TensorOptions(at::kFloat).device(context.device.torchDevice()));
  context.communicator.allReduce(first, comm::Reduction::Sum);
  context.device.synchronize();
  return training;
}

llvm::Error Training::readData() {
  context_.progress.report(0, 1, "load");
  auto read = [&]() -> llvm::Expected<data::Dataset> {
    if (parameters_.data.kind == Data::Kind::Synthetic) return data::synthetic(parameters_.data.count);
    llvm::SmallString<256> path(parameters_.data.path);
    if (llvm::sys::path::is_relative(path)) {
      path = context_.spec.root;
      llvm::sys::path::append(path, parameters_.data.path);
    }
    return data::readMnist(path.str().str());
  }();
  if (!read) return read.takeError();
  dataset_ = std::move(*read);
  return llvm::Error::success();
}

std::unique_ptr<data::Source> Training::prepared(const data::ImageSet& set) const {
  return std::make_unique<data::ScaledImages>(
      set, parameters_.size, parameters_.channels_last ? data::Layout::Nhwc : data::Layout::Nchw,
      parameters_.precision == Precision::Fp64 ? data::Element::Float64 : data::Element::Float32);
}

llvm::Error Training::startLoader(int64_t epochs) {
  data::DistributedSampler sampler;
  sampler.count = dataset_.train.count;
  sampler.world = context_.communicator.worldSize();
  sampler.rank = context_.communicator.rank();
  sampler.seed = context_.spec.seed;
  const int64_t images = sampler.perRank();

  data::LoaderOptions options;
  options.order = [sampler](int64_t epoch) { return sampler.indices(epoch); };
  options.batch = parameters_.batch;
  // Endless epochs are for timing: every step has the same work. Else only a last batch of one image, whose batch norm
  // has no variance, is left out.
  options.drop_last = epochs == 0 || images % parameters_.batch == 1;
  options.epochs = epochs;
  options.workers = static_cast<unsigned>(parameters_.workers);
  options.prefetch = static_cast<unsigned>(parameters_.prefetch);
  steps_per_epoch_ = data::batchesPerEpoch(images, options.batch, options.drop_last);
  if (steps_per_epoch_ == 0) {
    return llvm::createStringError("batch is " + llvm::Twine(parameters_.batch) + ", but each of " +
                                   llvm::Twine(sampler.world) + " ranks has only " + llvm::Twine(images) + " of the " +
                                   llvm::Twine(dataset_.train.count) + " training images in " + dataset_.train.origin +
                                   ": lower batch or gpus");
  }
  train_source_ = prepared(dataset_.train);
  auto loader = data::Loader::create(*train_source_, std::move(options));
  if (!loader) return loader.takeError();
  loader_ = std::move(*loader);
  return llvm::Error::success();
}

void Training::buildModel() {
  model::MobileNetV2Options options;
  options.classes = dataset_.train.classes;
  options.width = parameters_.width;
  options.dtype = precision::weightType(parameters_.precision);
  options.channels_last = parameters_.channels_last;
  options.device = context_.device.torchDevice();
  model_ = std::make_unique<model::MobileNetV2>(options, context_.spec.seed);
  weights_ = model_->parameterTensors();
  std::vector<at::Tensor> buffers;
  for (const auto& buffer : model_->buffers()) buffers.push_back(buffer.tensor);
  parallel_ = std::make_unique<comm::DataParallel>(context_.communicator, weights_, buffers);
  // Dropout must differ between ranks and repeat with the seed.
  at::manual_seed(context_.spec.seed + context_.communicator.rank());
}

void Training::buildOptimizer() {
  if (parameters_.optimizer == OptimizerKind::Adam) {
    optimizer_ = optim::makeAdam(
        weights_, {.learning_rate = parameters_.learning_rate, .weight_decay = parameters_.weight_decay});
  } else {
    optimizer_ = optim::makeSgd(weights_, {.learning_rate = parameters_.learning_rate,
                                           .momentum = parameters_.momentum,
                                           .weight_decay = parameters_.weight_decay});
  }
  scaler_ = std::make_unique<precision::GradScaler>(precision::scalesGradients(parameters_.precision),
                                                    context_.device.torchDevice());
}

at::Tensor Training::imagesOf(const data::Batch& batch) const {
  const int64_t n = batch.count, c = data::kChannels, s = parameters_.size;
  const auto options = at::TensorOptions(precision::weightType(parameters_.precision));
  const std::vector<int64_t> strides = parameters_.channels_last ? std::vector<int64_t>{s * s * c, 1, s * c, c}
                                                                 : std::vector<int64_t>{c * s * s, s * s, s, 1};
  // On the CPU `to` gives the loader's memory itself, which lives until the batch is released.
  return at::from_blob(batch.images, {n, c, s, s}, strides, options).to(context_.device.torchDevice());
}

at::Tensor Training::labelsOf(const data::Batch& batch) const {
  return at::from_blob(batch.labels, {batch.count}, at::TensorOptions(at::kLong)).to(context_.device.torchDevice());
}

llvm::Expected<bool> Training::step() {
  auto batch = loader_->next();
  if (!batch) return batch.takeError();
  if (!*batch) return false;
  optimizer_->zeroGrad();
  parallel_->beforeForward();
  at::Tensor loss;
  {
    precision::Autocast autocast(context_.device.torchDevice().type(), precision::autocastType(parameters_.precision));
    loss = at::cross_entropy_loss(model_->forward(imagesOf(**batch)), labelsOf(**batch));
  }
  parallel_->beforeBackward();
  scaler_->scale(loss).backward();
  scaler_->step(weights_, [&] { optimizer_->step(); });
  losses_.push_back(loss.detach());
  ++steps_done_;
  return true;
}

llvm::Expected<std::vector<double>> Training::takeLosses() {
  std::vector<double> losses;
  if (!losses_.empty()) {
    const auto all = at::stack(losses_).to(at::kCPU, at::kDouble).contiguous();
    losses.assign(all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel());
  }
  losses_.clear();
  losses = context_.communicator.allReduce(std::move(losses), comm::Reduction::Sum);
  const int64_t first = steps_done_ - static_cast<int64_t>(losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    losses[i] /= context_.communicator.worldSize();
    if (!std::isfinite(losses[i])) {
      return llvm::createStringError(
          "the loss of step " + llvm::Twine(first + static_cast<int64_t>(i) + 1) +
          " is not finite: the training diverged; lower learning_rate or use a wider precision");
    }
  }
  return losses;
}

llvm::Expected<double> Training::accuracy(const data::ImageSet& set) {
  const int64_t world = context_.communicator.worldSize(), rank = context_.communicator.rank();
  const auto source = prepared(set);
  data::LoaderOptions options;
  options.order = [&](int64_t) { return data::evaluationShard(set.count, world, rank); };
  options.batch = parameters_.batch;
  options.epochs = 1;
  options.workers = static_cast<unsigned>(parameters_.workers);
  options.prefetch = static_cast<unsigned>(parameters_.prefetch);
  auto loader = data::Loader::create(*source, std::move(options));
  if (!loader) return loader.takeError();

  parallel_->shareBuffers();
  model_->setTraining(false);
  at::NoGradGuard no_grad;
  auto correct = at::zeros({}, at::TensorOptions(at::kLong).device(context_.device.torchDevice()));
  while (true) {
    auto batch = (*loader)->next();
    if (!batch) return batch.takeError();
    if (!*batch) break;
    precision::Autocast autocast(context_.device.torchDevice().type(), precision::autocastType(parameters_.precision));
    correct += model_->forward(imagesOf(**batch)).argmax(1).eq(labelsOf(**batch)).sum();
  }
  model_->setTraining(true);
  return context_.communicator.allReduce(correct.item<double>(), comm::Reduction::Sum) / static_cast<double>(set.count);
}

}  // namespace expc::workload::image
