// The workload image.mobilenet_v2: how its trials run, its metrics, and what is kept and restored: initial weights
// from a file, snapshots, and the way back from one. training.cpp has the steps themselves.

#include <ATen/ATen.h>

#include <filesystem>
#include <numeric>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/model/state_file.h"
#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/image/training.h"

namespace expc::workload::image {
namespace {

/// Runs a trial of any kind. A training restarts at the epoch that its checkpoint says, since its loader must start
/// there.
Expected<protocol::Event> run(TrialContext& context) {
  return runTraining(context, readParameters, [&](const Parameters& parameters, const Settings& settings, bool) {
    return [&](int64_t epochs_done) { return Training::create(context, parameters, settings.epochs, epochs_done); };
  });
}

std::optional<double> lastOf(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(values.back());
}

/// The metrics of timed trials. `images` were trained on in the timed steps, `of_epoch` are those of a pass over the
/// data; this rank `skipped` some that could not be decoded.
std::vector<profile::Measure> timed(const Clocked& clocked, double images, double of_epoch, double skipped,
                                    std::optional<double> epoch_pause) {
  return {{"step_time", clocked.step},
          {"images_per_s", images / clocked.wall},
          {"epoch_time", of_epoch * clocked.wall / images},
          {"load_wait_time", clocked.load_wait},
          {"epoch_pause_time", epoch_pause},
          {"images_skipped", skipped, profile::Over::Sum}};
}

/// The metrics of quality trials. The course's seconds must be those of the slowest rank.
QualityResult judged(const Course& course, const std::vector<double>& epoch_losses,
                     std::optional<double> train_accuracy, std::optional<double> evaluation_pause) {
  return {{{"accuracy", lastOf(course.evaluations)},
           {"train_accuracy", train_accuracy},
           {"final_loss", lastOf(epoch_losses)},
           {"quality_train_time", course.training_s},
           {"evaluation_time", course.evaluation_s},
           {"evaluation_pause_time", evaluation_pause},
           {"total_time", course.training_s + course.evaluation_s}},
          {{"accuracy_curve", course.evaluations}, {"loss", course.losses}, {"epoch_loss", epoch_losses}}};
}

constexpr char kGenerators[] = "generators";

}  // namespace

std::vector<Metric> Training::metrics() { return metricsOf(timed({}, 0, 0, 0, {}), judged({}, {}, {}, {})); }

void Training::describe(json::Object& environment) const {
  if (graph_ && graph_->recorded()) environment["step_graph_nodes"] = int64_t(graph_->nodes());
}

std::vector<profile::Measure> Training::measure(const Clocked& clocked, int64_t steps) {
  // Timed steps are full batches on every device, so this is exact.
  const double images = double(parameters_.batch * parameters_.gpus * steps);
  return timed(clocked, images, double(sets_.train->count()), double(feed_->skipped()), epoch_pause_);
}

Error Training::addEvaluation(Course& course) {
  auto share = TRY(accuracy(*sets_.test, course));
  course.evaluations.push_back(share);
  return Error::success();
}

Expected<QualityResult> Training::judge(Course& course) {
  std::optional<double> train_accuracy;
  if (asked(context_.spec, "train_accuracy")) train_accuracy = TRY(accuracy(*sets_.train, course));
  // The mean over an epoch's steps, which is smoother than the last step's loss.
  std::vector<double> epoch_losses;
  for (auto at = course.losses.begin(); at != course.losses.end(); at += steps_per_epoch_)
    epoch_losses.push_back(std::accumulate(at, at + steps_per_epoch_, 0.0) / double(steps_per_epoch_));
  comm::Communicator& ranks = context_.communicator;
  // Until here the course has this rank's times.
  course.training_s = ranks.allReduce(course.training_s, comm::Reduction::Max);
  course.evaluation_s = ranks.allReduce(course.evaluation_s, comm::Reduction::Max);
  if (const double skipped = ranks.allReduce(double(feed_->skipped()), comm::Reduction::Sum); skipped > 0)
    notes_.push_back(fmt::format("images that could not be decoded and were replaced: {:.0f}", skipped));
  return judged(course, epoch_losses, train_accuracy, evaluation_pause_);
}

Expected<std::vector<std::string>> Training::leave(const CheckpointFolder& folder, int64_t epochs) {
  std::vector<std::string> notes;
  if (context_.communicator.rank() != 0) return notes;
  // The model of the last checkpoint is the result, under a name without an epoch.
  auto weights = TRY(folder.finish(epochs));
  notes.push_back("the trained weights: " + weights);
  return notes;
}

/// Asked before the trial runs, so parameters that cannot be read count as "no": run() refuses them with a reason.
bool deterministic(const json::Object& parameters) {
  const auto read = expectedToOptional(readParameters(parameters));
  return read && read->deterministic;
}

Workload mobilenetV2() {
  return {{"image.mobilenet_v2", 1, declaredParameters(), Training::metrics()}, run, deterministic};
}

Error Training::loadInitialWeights() {
  auto file = TRY(prefixed("initial_weights", safetensors::File::open(std::filesystem::path(context_.spec.root) /
                                                                      parameters_.initial_weights)));
  // A classifier of another size is the likeliest misfit, so it gets a message of its own.
  const safetensors::TensorInfo* classifier = file.find("classifier.1.weight");
  const int64_t classes = sets_.train->classes();
  if (classifier && classifier->shape.size() == 2 && classifier->shape[0] != classes)
    return failure(
        "initial_weights: {} has {} classes, but the images of {} have {}: use weights for that number of classes, or "
        "give the file a new classifier",
        file.path(), classifier->shape[0], sets_.train->origin(), classes);
  if (auto error = model::loadState(file, model_->stateDict()))
    return failure("initial_weights: {} (expected torchvision's mobilenet_v2 with width_mult {})", std::move(error),
                   parameters_.width);
  return Error::success();
}

Snapshot Training::snapshot() {
  Snapshot result;
  result.model = model_->stateDict();
  for (const auto& [name, tensor] : optimizer_->state()) result.rest.push_back({optimizerName(name), tensor});
  // Dropout must continue where it was, so each rank's generators are kept.
  std::vector<at::Tensor> states;
  for (const at::Generator& generator : parallel_->generators()) states.push_back(generator.get_state());
  result.rest.push_back({kGenerators, at::stack(context_.communicator.allGather(at::cat(states)))});
  result.done = {steps_done_, 0, scaler_->state()};
  return result;
}

json::Object Training::counts() const {
  return json::Object{{"training images", sets_.train->count()}, {"test images", sets_.test->count()}};
}

/// One pass over blank images before a restore. The reducer lays out its buckets anew after its first pass, and with
/// three ranks or more their bounds decide the order of sums. The training that is continued has that pass behind it,
/// so this one must too, to get the same bits.
void Training::rehearse() {
  if (context_.communicator.worldSize() == 1) return;
  const auto device = context_.device.torchDevice();
  const auto images =
      at::zeros({2, 3, parameters_.size, parameters_.size},
                at::TensorOptions(precision::weightType(parameters_.precision)).device(device))
          .contiguous(parameters_.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  computeGradients(images, at::zeros({2}, at::TensorOptions(at::kLong).device(device)));
  optimizer_->zeroGrad();
}

Error Training::restore(const safetensors::File& model, const safetensors::File& rest, const Done& done) {
  // Before the state is restored, since the pass moves running statistics and draws from the generators.
  rehearse();
  // Tensors are copied in place, so that optimiser and reducer keep referring to them.
  TRY(model::loadState(model, model_->stateDict()));

  auto generators_of_all = TRY(restoreOptimizer(
      *optimizer_, rest, kGenerators, [](const safetensors::TensorInfo& info) { return model::tensorOf(info); }));
  const int64_t rank = context_.communicator.rank(), world = context_.communicator.worldSize();
  std::vector<at::Generator> own = parallel_->generators();
  // The size of a generator's state depends on the device and on torch's version: check before splitting.
  std::vector<int64_t> sizes;
  int64_t bytes = 0;
  for (const at::Generator& generator : own) {
    sizes.push_back(generator.get_state().numel());
    bytes += sizes.back();
  }
  if (!generators_of_all.defined() || generators_of_all.sizes() != at::IntArrayRef({world, bytes}) ||
      generators_of_all.scalar_type() != at::kByte)
    return failure("{}: the state of random numbers is not this build's", rest.path());
  const auto states = generators_of_all[rank].split_with_sizes(sizes);
  for (size_t i = 0; i < own.size(); ++i) own[i].set_state(states[i].clone());

  scaler_->restore(done.scaler);
  steps_done_ = done.steps;
  return Error::success();
}

}  // namespace expc::workload::image
