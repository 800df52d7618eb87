// One rank's training, step by step, and the CUDA graph of a step. Steps go operator by operator first, because the
// first one sets up what later ones reuse (buckets, workspaces); the second full batch may then be launched as a
// graph.

#include "runtime/worker/workload/image/training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/record_function.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/alike.h"
#include "runtime/data/images/loader.h"
#include "runtime/data/images/open.h"
#include "runtime/data/images/sampler.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/workload/image/parallel.h"

namespace expc::workload::image {

using precision::Precision;

namespace {

/// Refuses, before anything is built, what cannot run here, and says what to choose instead.
Error checkSupport(const TrialContext& context, const Parameters& parameters) {
  const bool one_process = parameters.strategy == Strategy::Dp;
  if (one_process && (context.spec.world_size != 1 || size_t(parameters.gpus) != context.slots.size())) {
    return failure(
        "strategy dp drives all devices from one process: gpus is {}, but the launcher started {} ranks and gave the "
        "first one {} devices",
        parameters.gpus, context.spec.world_size, context.slots.size());
  }
  if (!one_process && parameters.gpus != context.spec.world_size)
    return failure("parameter gpus is {}, but the launcher started {} ranks", parameters.gpus, context.spec.world_size);
  const bool cpu = context.device.torchDevice().is_cpu();
  if (parameters.precision == Precision::Tf32 && cpu)
    return failure("precision tf32 needs a GPU: it is a mode of tensor cores; use fp32");
  if (parameters.precision == Precision::Fp16 && cpu)
    return failure(
        "precision fp16 needs a GPU: the CPU has no fast convolutions in fp16; use bf16, or leave the level out with "
        "`exclude`");
  const json::Object* slot = context.slots.front().getAsObject();
  if (parameters.loader == feed::LoaderKind::Dali && slot && slot->getBoolean("null").value_or(false)) {
    return failure(
        "loader dali needs a real GPU: DALI has its own CUDA runtime, which finds no driver on simulated GPUs; leave "
        "the level out there, with -D 'loader={{dataloader,native}}'");
  }
  return Error::success();
}

}  // namespace

bool StepGraph::record(const at::Tensor& images, const at::Tensor& labels, std::vector<at::Tensor> weights,
                       const Work& work) {
  images_ = at::empty_like(images);
  labels_ = at::empty_like(labels);
  try {
    // Recording runs the work without executing it; the gradients are then the graph's own tensors.
    graph_->record([&] { loss_ = work(images_, labels_); });
  } catch (const device::NotRecorded& error) {
    refusal_ = error.what();
  }
  // All ranks decide alike: a rank that launched a graph would queue its collectives at other times than the rest.
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
  // The communicator cannot see collectives inside a graph, so it watches for the graph's end.
  if (communicator_.worldSize() > 1) communicator_.watchQueued(graph_->ended());
  for (size_t i = 0; i < weights_.size(); ++i) weights_[i].mutable_grad() = gradients_[i];
  // A copy, because the next launch overwrites the graph's loss.
  return loss_.clone();
}

Expected<std::unique_ptr<Training>> Training::create(TrialContext& context, const Parameters& parameters,
                                                     int64_t epochs, int64_t first_epoch) {
  TRY(checkSupport(context, parameters));
  std::unique_ptr<Training> training(new Training(context, parameters));
  training->begin(parameters.pin_memory);
  if (parameters.cudnn_benchmark && context.device.torchDevice().is_cpu())
    training->notes_.push_back("cudnn_benchmark has no effect: there is no accelerator, so cuDNN computes nothing");
  at::globalContext().setBenchmarkCuDNN(parameters.cudnn_benchmark);
  precision::allowTensorFloat32(parameters.precision == Precision::Tf32);
  // Data and their feed come before the model: the number of classes decides on the model's size.
  Data place = parameters.data;
  place.path = std::filesystem::path(context.spec.root) / place.path;
  training->sets_ = TRY(data::open(place));
  // Not for folders: reading their files before the first epoch would change how long that takes, and `expc data
  // verify` tells the same.
  if (epochs > 0 && place.kind == Data::Kind::Mnist)
    if (const int64_t alike = data::countAlike(training->sets_); alike > 0)
      training->notes_.emplace_back(plan::Note::Leaked, "accuracy", double(alike), "test image",
                                    double(training->sets_.test->count()));
  TRY(training->preload());
  // The graph is opened before feed and model, since these are made on its stream.
  training->openGraph();
  TRY(training->startFeed(epochs, first_epoch));
  if (epochs > 0 && parameters.loader == feed::LoaderKind::Dali && training->sets_.test->count() >= parameters.gpus)
    training->test_feed_ = TRY(training->evaluationFeed(*training->sets_.test, 0));
  TRY(training->buildModel(first_epoch > 0));
  training->buildOptimizer(epochs);
  training->connect();
  return training;
}

feed::FeedOptions Training::feedOptions() const {
  // The network's input has the weights' type, unless autocast computes in another one.
  const c10::ScalarType input = precision::weightType(parameters_.precision);
  return {.loader = parameters_.loader,
          .batches = {.batch = parameters_.batch,
                      .workers = parameters_.workers,
                      .prefetch = parameters_.prefetch,
                      .processes = parameters_.processes},
          .size = parameters_.size,
          .channels_last = parameters_.channels_last,
          .input = input,
          .compute = precision::autocastType(parameters_.precision).value_or(input),
          .transfer = parameters_.transfer,
          .on_device = parameters_.on_device,
          .pinned = parameters_.pin_memory,
          .blocking = parameters_.host_waits.copies};
}

Error Training::preload() {
  // A rehearsal reads the images of its steps alone: no value matters, and all of them would fill this machine's
  // memory.
  if (!parameters_.preload || context_.spec.rehearsal) return Error::success();
  for (std::unique_ptr<data::Images>* set : {&sets_.train, &sets_.test}) {
    const data::Preparation preparation = feed::preparationOf(feedOptions(), (*set)->shape());
    *set = TRY(data::preload(std::move(*set), preparation));
  }
  return Error::success();
}

Error Training::startFeed(int64_t epochs, int64_t first_epoch) {
  const int64_t count = sets_.train->count();
  const Portion portion = Portion::of(parameters_.strategy, parameters_.gpus, parameters_.batch,
                                      context_.communicator.rank(), count, context_.spec.seed);
  feed::FeedOptions options = feedOptions();
  options.batches.order = portion.order;
  options.batches.batch = portion.batch;
  options.slice = portion.slice;
  options.slices = portion.slices;
  // Endless epochs are for timing, so that every step has the same work. Otherwise a last batch is left out only if
  // it leaves a device a single image.
  options.batches.drop_last = epochs == 0 || portion.tail_is_single;
  options.batches.first_epoch = first_epoch;
  if (parameters_.skip_corrupt) options.batches.on_corrupt = data::OnCorrupt::Replace;
  // A restored training may have all epochs behind it and need no batch; but 0 would mean endless.
  options.batches.epochs = epochs == 0 ? 0 : std::max<int64_t>(1, epochs - first_epoch);
  steps_per_epoch_ = data::batchesPerEpoch(portion.images, portion.batch, options.batches.drop_last);
  if (steps_per_epoch_ == 0)
    return failure(
        "batch is {}, but each of {} devices has only {} of the {} training images in {}: lower batch or gpus",
        parameters_.batch, parameters_.gpus, (count + parameters_.gpus - 1) / parameters_.gpus, count,
        sets_.train->origin());
  feed_ = TRY(feed::makeFeed(*sets_.train, std::move(options), context_.device));
  return Error::success();
}

std::vector<ReplicaPlace> Training::replicaPlaces() const {
  const std::vector<c10::Device> devices = context_.device.torchDevices();
  std::vector<ReplicaPlace> result;
  for (const json::Value& slot : context_.slots) {
    ReplicaPlace place;
    // On the CPU all replicas are on one device, and differ in their cores.
    if (!devices.front().is_cpu()) place.device = devices[result.size()];
    place.cores = serve::slotCores(slot);
    place.threads = device::slotThreads(slot);
    result.push_back(std::move(place));
  }
  return result;
}

Error Training::buildModel(bool resumed) {
  const model::MobileNetV2Options options{.classes = sets_.train->classes(),
                                          .width = parameters_.width,
                                          .dtype = precision::weightType(parameters_.precision),
                                          .device = context_.device.torchDevice(),
                                          .channels_last = parameters_.channels_last,
                                          .own_kernels = parameters_.own_kernels};
  model_ = std::make_unique<model::MobileNetV2>(options, context_.spec.seed);
  weights_ = model_->parameterTensors();
  // A checkpoint's weights replace these anyway.
  if (!resumed && !parameters_.initial_weights.empty()) TRY(loadInitialWeights());
  // Dropout must differ between ranks and repeat with the seed.
  at::manual_seed(context_.spec.seed + context_.communicator.rank());
  parallel_ = parameters_.strategy == Strategy::Dp
                  ? makeReplicas(*model_, options, replicaPlaces(), precision::autocastType(parameters_.precision),
                                 context_.spec.seed)
                  : makeRanks(context_.communicator, *model_);
  return Error::success();
}

void Training::buildOptimizer(int64_t epochs) {
  optimizer_ = parameters_.optimizer == OptimizerKind::Adam
                   ? optimizer::makeAdam(weights_, {.learning_rate = parameters_.learning_rate,
                                                    .weight_decay = parameters_.weight_decay})
                   : optimizer::makeSgd(weights_, {.learning_rate = parameters_.learning_rate,
                                                   .momentum = parameters_.momentum,
                                                   .weight_decay = parameters_.weight_decay});
  // Only fp16 scales gradients; for other types the scaler passes them through.
  scaler_ = std::make_unique<precision::GradScaler>(precision::scalesGradients(parameters_.precision),
                                                    context_.device.torchDevice());
  schedule_.base = parameters_.learning_rate;
  if (epochs == 0) return;  // the steps of a timed trial are all alike
  schedule_.kind = parameters_.schedule;
  schedule_.epoch_steps = steps_per_epoch_;
  schedule_.total_steps = epochs * steps_per_epoch_;
  // A warm-up longer than the training ends with it.
  const double warmup = std::round(parameters_.warmup_epochs * double(steps_per_epoch_));
  schedule_.warmup_steps = int64_t(std::min(warmup, double(schedule_.total_steps)));
}

at::Tensor Training::computeGradients(const at::Tensor& images, const at::Tensor& labels) {
  using profile::Phase, profile::Range;
  optimizer_->zeroGrad();
  at::Tensor loss;
  {
    const Range forward(Phase::Forward);
    precision::Autocast autocast(context_.device.torchDevice().type(), precision::autocastType(parameters_.precision));
    loss = at::cross_entropy_loss(parallel_->forward(images), labels);
  }
  const Range backward(Phase::Backward);
  parallel_->backward(scaler_->scale(loss));
  return loss.detach();
}

void Training::update() {
  const profile::Range optimizer(profile::Phase::Optimizer);
  scaler_->step(weights_, [&](const at::Tensor& overflow) { optimizer_->step(overflow); });
}

/// No graph for dp, whose replicas have threads and devices of their own, and none in profile trials, whose phases
/// lie between operators.
void Training::openGraph() {
  if (!parameters_.own_kernels || parameters_.strategy == Strategy::Dp) return;
  if (context_.spec.kind == TrialKind::Profile) {
    if (context_.device.torchDevice().is_cuda())
      notes_.push_back(
          "the profiled steps were queued operator by operator: with kernels = fused those of timed and quality trials "
          "are one CUDA graph each, of the same kernels");
    return;
  }
  if (auto graph = context_.device.graph())
    graph_ = std::make_unique<StepGraph>(std::move(graph), context_.communicator);
}

/// The first full batch goes operator by operator, and is recorded afterwards. Batches that are not full go operator
/// by operator too, and all do if the step cannot be recorded.
at::Tensor Training::train(const feed::DeviceBatch& batch) {
  // The optimiser's update is recorded only if the rate is constant, as a graph would repeat the recorded rate.
  // Whoever observes operators (a profiler, a rehearsal) sees none in a launch, so such a step is not launched.
  const bool whole = schedule_.isConstant(), observed = at::hasCallbacks(),
             full = graph_ && graph_->refusal().empty() && batch.count == parameters_.batch && !observed;
  // Drop the graph for an observed step: it holds the memory of a whole step, which this one needs too. All ranks are
  // observed in the same step.
  if (observed && graph_ && graph_->recorded()) graph_->drop();
  const StepGraph::Work work = [&](const at::Tensor& images, const at::Tensor& labels) {
    at::Tensor loss = computeGradients(images, labels);
    if (whole) update();
    return loss;
  };
  const bool recorded = full && graph_->recorded();
  at::Tensor loss = recorded ? graph_->launch(batch.images, batch.labels) : work(batch.images, batch.labels);
  if (!whole) update();
  if (recorded) return loss;
  parallel_->settle();
  if (!full) return loss;
  optimizer_->zeroGrad();  // the graph gets gradients of its own
  if (graph_->record(batch.images, batch.labels, weights_, work)) return loss;
  parallel_ = makeRanks(context_.communicator, *model_);  // the old reducer waits for gradients that did not come
  notes_.push_back(
      "the step could not be recorded as a CUDA graph, so it was queued operator by operator, as with kernels = "
      "plain: " +
      graph_->refusal());
  return loss;
}

Expected<bool> Training::step() {
  using profile::Phase, profile::Range;
  if (!epoch_range_) epoch_range_.emplace(Phase::Epoch);
  const Range step(Phase::Step);
  auto batch = TRY(feed_->next());
  if (!batch) return false;
  // The first batch of a later epoch: how long did the device wait for it since the last one ended?
  if (waited_) epoch_pause_ = std::max(epoch_pause_.value_or(0), feed_->waitSeconds() - *waited_);
  waited_.reset();
  optimizer_->setLearningRate(schedule_.rate(steps_done_));
  losses_.push_back(train(*batch));
  if (parameters_.host_waits.loss) losses_.back().item();
  // If batches are staged ahead, the wait for the next epoch's first batch happens in ahead() below.
  if (batch->last) waited_ = feed_->waitSeconds();
  feed_->ahead();
  if (batch->last) epoch_range_.reset();
  ++steps_done_;
  return true;
}

Expected<std::unique_ptr<feed::Feed>> Training::evaluationFeed(const data::Images& images, int64_t passes) {
  feed::FeedOptions options = feedOptions();
  options.batches.order = [count = images.count(), world = context_.communicator.worldSize(),
                           rank = context_.communicator.rank()](int64_t) {
    return data::evaluationShard(count, world, rank);
  };
  options.batches.epochs = passes;
  if (parameters_.skip_corrupt) options.batches.on_corrupt = data::OnCorrupt::LeaveOut;
  return feed::makeFeed(images, std::move(options), context_.device);
}

Expected<double> Training::accuracy(const data::Images& images, Course& course) {
  const auto begin = base::Clock::now();
  const int64_t count = images.count();
  std::unique_ptr<feed::Feed> once;
  if (!test_feed_ || &images != sets_.test.get()) once = TRY(evaluationFeed(images, 1));
  feed::Feed& feed = once ? *once : *test_feed_;

  parallel_->beginEvaluation();
  at::NoGradGuard no_grad;
  auto correct = at::zeros({}, at::TensorOptions(at::kLong).device(context_.device.torchDevice()));
  for (bool last = false; !last;) {
    auto batch = TRY(feed.next());
    if (!batch) break;
    last = batch->last;
    if (batch->number == 0) evaluation_pause_ = std::max(evaluation_pause_.value_or(0), base::secondsSince(begin));
    precision::Autocast autocast(context_.device.torchDevice().type(), precision::autocastType(parameters_.precision));
    correct += parallel_->evaluate(batch->images).argmax(1).eq(batch->labels).sum();
  }
  // Counts are summed as doubles, which are exact for such numbers.
  const auto of_all =
      context_.communicator.allReduce({correct.item<double>(), double(feed.skipped())}, comm::Reduction::Sum);
  const auto left_out = int64_t(of_all[1]);
  if (left_out == count)
    return failure("none of the {} images of {} could be decoded, so there is no accuracy", count, images.origin());
  const std::string note = fmt::format("{} of {} images of {} could not be decoded and are left out of the accuracy",
                                       left_out, count, images.origin());
  if (left_out > 0 && !is_contained(notes_, note)) notes_.push_back(note);
  context_.device.synchronize();
  course.evaluation_s += base::secondsSince(begin);
  return of_all[0] / double(count - left_out);
}

}  // namespace expc::workload::image
