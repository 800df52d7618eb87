// The workload: how a trial of it runs, and what it says of its training.

#include <fmt/format.h>

#include <numeric>

#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/image/training.h"

namespace expc::workload::image {
namespace {

llvm::Expected<plan::Event> run(TrialContext& context) {
  return runTraining(context, readParameters, [&](const Parameters& parameters, const Settings& settings, bool) {
    return [&](int64_t epochs_done) { return Training::create(context, parameters, settings.epochs, epochs_done); };
  });
}

std::optional<double> lastOf(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(values.back());
}

/// `images` in the timed steps, `of_epoch` in a pass over the training images; this rank `skipped` some.
std::vector<profile::Measure> timed(const Clocked& clocked, double images, double of_epoch, double skipped,
                                    std::optional<double> epoch_pause) {
  return {{"step_time", clocked.step},
          {"images_per_s", images / clocked.wall},
          {"epoch_time", of_epoch * clocked.wall / images},
          {"load_wait_time", clocked.load_wait},
          {"epoch_pause_time", epoch_pause},
          {"images_skipped", skipped, profile::Over::Sum}};
}

/// The course's seconds are those of the slowest rank.
Judged judged(const Course& course, const std::vector<double>& epoch_losses, std::optional<double> train_accuracy,
              std::optional<double> evaluation_pause) {
  return {{{"accuracy", lastOf(course.accuracies)},
           {"train_accuracy", train_accuracy},
           {"final_loss", lastOf(epoch_losses)},
           {"quality_train_time", course.training_s},
           {"evaluation_time", course.evaluation_s},
           {"evaluation_pause_time", evaluation_pause},
           {"total_time", course.training_s + course.evaluation_s}},
          {{"accuracy_curve", course.accuracies}, {"loss", course.losses}, {"epoch_loss", epoch_losses}}};
}

}  // namespace

std::vector<Metric> Training::metrics() { return metricsOf(timed({}, 0, 0, 0, {}), judged({}, {}, {}, {})); }

void Training::describe(llvm::json::Object& environment) const {
  if (graph_ && graph_->recorded()) environment["step_graph_nodes"] = static_cast<int64_t>(graph_->nodes());
}

std::vector<profile::Measure> Training::measure(const Clocked& clocked, int64_t steps) {
  const double images = static_cast<double>(parameters_.batch * parameters_.gpus * steps);
  return timed(clocked, images, static_cast<double>(sets_.train->count()), static_cast<double>(feed_->skipped()),
               epoch_pause_);
}

llvm::Error Training::evaluateEpoch(Course& course) {
  auto share = accuracy(*sets_.test, course);
  if (!share) return share.takeError();
  course.accuracies.push_back(*share);
  return llvm::Error::success();
}

llvm::Expected<Judged> Training::judge(Course& course) {
  std::optional<double> train_accuracy;
  if (asked(context_.spec, "train_accuracy")) {
    auto share = accuracy(*sets_.train, course);
    if (!share) return share.takeError();
    train_accuracy = *share;
  }
  std::vector<double> epoch_losses;
  for (auto at = course.losses.begin(); at != course.losses.end(); at += steps_per_epoch_)
    epoch_losses.push_back(std::accumulate(at, at + steps_per_epoch_, 0.0) / static_cast<double>(steps_per_epoch_));
  comm::Communicator& ranks = context_.communicator;
  course.training_s = ranks.allReduce(course.training_s, comm::Reduction::Max);
  course.evaluation_s = ranks.allReduce(course.evaluation_s, comm::Reduction::Max);
  if (const double skipped = ranks.allReduce(static_cast<double>(feed_->skipped()), comm::Reduction::Sum); skipped > 0)
    notes_.push_back(fmt::format("images that could not be decoded and were replaced: {:.0f}", skipped));
  return judged(course, epoch_losses, train_accuracy, evaluation_pause_);
}

llvm::Expected<std::vector<std::string>> Training::leave(const CheckpointFolder& folder, int64_t epochs) {
  std::vector<std::string> notes;
  if (context_.communicator.rank() != 0) return notes;
  auto weights = folder.finish(epochs);
  if (!weights) return weights.takeError();
  notes.push_back("the trained weights: " + *weights);
  return notes;
}

/// Parameters that cannot be read are run()'s to refuse.
bool deterministic(const llvm::json::Object& parameters) {
  auto read = readParameters(parameters);
  if (!read) llvm::consumeError(read.takeError());
  return read && read->deterministic;
}

Workload mobilenetV2() {
  return {{"image.mobilenet_v2", 1, declaredParameters(), Training::metrics()}, run, deterministic};
}

}  // namespace expc::workload::image
