#include "runtime/worker/workload/image/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/worker/profile/over_ranks.h"
#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/trial_checkpoint.h"

namespace expc::workload::image {
namespace {

using Clock = std::chrono::steady_clock;
using Checkpoint = CheckpointFolder::Checkpoint;

/// What a trial has so far; what a checkpoint keeps beside the training itself.
struct Course {
  std::vector<double> losses, accuracies;
  double training_s = 0, evaluation_s = 0;

  int64_t epochs() const { return static_cast<int64_t>(accuracies.size()); }
  llvm::json::Object toJson() const {
    return llvm::json::Object{{"losses", llvm::json::Array(losses)},
                              {"accuracies", llvm::json::Array(accuracies)},
                              {"training_s", training_s},
                              {"evaluation_s", evaluation_s}};
  }
  /// Nothing if it is not what toJson() gives.
  static std::optional<Course> fromJson(const llvm::json::Object& object) {
    Course course;
    for (auto [name, values] : {std::pair("losses", &course.losses), {"accuracies", &course.accuracies}}) {
      const llvm::json::Array* array = object.getArray(name);
      if (!array) return std::nullopt;
      for (const llvm::json::Value& value : *array) {
        const auto number = value.getAsNumber();
        if (!number) return std::nullopt;
        values->push_back(*number);
      }
    }
    const auto training = object.getNumber("training_s"), evaluation = object.getNumber("evaluation_s");
    if (!training || !evaluation) return std::nullopt;
    course.training_s = *training;
    course.evaluation_s = *evaluation;
    return course;
  }
};

/// The share of images classified correctly, and the time that takes on this rank.
llvm::Expected<double> evaluate(TrialContext& context, Training& training, const data::Images& images,
                                double& seconds) {
  const auto begin = Clock::now();
  auto accuracy = training.accuracy(images);
  context.device.synchronize();
  seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  return accuracy;
}

/// One epoch between two barriers; its wall time on this rank.
llvm::Expected<double> runEpoch(TrialContext& context, Training& training, int64_t epoch, int64_t epochs) {
  context.device.synchronize();
  context.communicator.barrier();
  const auto begin = Clock::now();
  const int64_t count = training.stepsPerEpoch();
  for (int64_t i = 0; i < count; ++i) {
    auto more = training.step();
    if (!more) return more.takeError();
    context.progress.report(static_cast<uint64_t>(epoch * count + i + 1), static_cast<uint64_t>(epochs * count),
                            "epoch");
  }
  context.device.synchronize();
  context.communicator.barrier();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Takes up what the checkpoint has.
llvm::Error resume(Training& training, Course& course, const Checkpoint& checkpoint) {
  const llvm::json::Object* numbers = checkpoint.content.getObject("training");
  const llvm::json::Object* kept = checkpoint.content.getObject("course");
  const auto read = kept ? Course::fromJson(*kept) : std::nullopt;
  if (!numbers || !read || read->epochs() != checkpoint.epochs ||
      static_cast<int64_t>(read->losses.size()) != checkpoint.epochs * training.stepsPerEpoch())
    return llvm::createStringError(
        fmt::format("{} does not have what this build keeps, or was written with other images: remove it to begin the "
                    "trial anew",
                    checkpoint.path));
  course = *read;
  return training.restore(checkpoint.model, checkpoint.state, *numbers);
}

/// Every rank calls it: what the others know goes to the first, which writes.
llvm::Error keep(TrialContext& context, Training& training, const CheckpointFolder& folder, const Course& course) {
  Training::Snapshot snapshot = training.snapshot();
  Course of_all = course;
  of_all.training_s = context.communicator.allReduce(course.training_s, comm::Reduction::Max);
  of_all.evaluation_s = context.communicator.allReduce(course.evaluation_s, comm::Reduction::Max);
  if (context.communicator.rank() != 0) return llvm::Error::success();
  return folder.save(course.epochs(), snapshot.model, snapshot.rest,
                     llvm::json::Object{{"course", of_all.toJson()}, {"training", std::move(snapshot.numbers)}});
}

/// The epochs from where the course stands.
llvm::Error train(TrialContext& context, Training& training, const CheckpointFolder* folder, int64_t epochs,
                  Course& course) {
  for (int64_t epoch = course.epochs(); epoch < epochs; ++epoch) {
    auto seconds = runEpoch(context, training, epoch, epochs);
    if (!seconds) return seconds.takeError();
    course.training_s += *seconds;
    auto losses = training.takeLosses();
    if (!losses) return losses.takeError();
    course.losses.insert(course.losses.end(), losses->begin(), losses->end());
    context.progress.report(static_cast<uint64_t>(epoch + 1), static_cast<uint64_t>(epochs), "evaluate");
    auto accuracy = evaluate(context, training, training.testImages(), course.evaluation_s);
    if (!accuracy) return accuracy.takeError();
    course.accuracies.push_back(*accuracy);
    if (folder)
      if (auto error = keep(context, training, *folder, course)) return error;
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<plan::Event> runQuality(TrialContext& context, const Parameters& parameters, const Settings& settings) {
  auto kept = openCheckpoints(context, parameters.checkpoints);
  if (!kept) return kept.takeError();
  auto& [folder, checkpoint] = *kept;
  auto created = Training::create(context, parameters, settings.epochs, checkpoint ? checkpoint->epochs : 0);
  if (!created) return created.takeError();
  Training& training = context.keep(std::move(*created));
  Course course;
  plan::Event result;
  result.type = plan::Event::Type::Result;
  if (checkpoint) {
    if (auto error = resume(training, course, *checkpoint)) return error;
    result.notes.push_back(wentOnFrom(*checkpoint, settings.epochs));
    checkpoint.reset();
  }
  if (auto error = train(context, training, folder ? &*folder : nullptr, settings.epochs, course)) return error;

  result.metrics["accuracy"] = course.accuracies.back();
  if (asked(context.spec, "train_accuracy")) {
    auto accuracy = evaluate(context, training, training.trainImages(), course.evaluation_s);
    if (!accuracy) return accuracy.takeError();
    result.metrics["train_accuracy"] = *accuracy;
  }
  const int64_t steps = training.stepsPerEpoch();
  llvm::json::Array epoch_losses;
  for (auto at = course.losses.begin(); at != course.losses.end(); at += steps)
    epoch_losses.push_back(std::accumulate(at, at + steps, 0.0) / static_cast<double>(steps));
  result.metrics["final_loss"] = epoch_losses.back();
  result.series["epoch_loss"] = std::move(epoch_losses);
  profile::reduce(context.communicator, {{"evaluation_pause_time", profile::Over::Max, training.evaluationPause()}},
                  result.metrics);
  const double training_time = context.communicator.allReduce(course.training_s, comm::Reduction::Max);
  const double evaluation_time = context.communicator.allReduce(course.evaluation_s, comm::Reduction::Max);
  result.metrics["quality_train_time"] = training_time;
  result.metrics["evaluation_time"] = evaluation_time;
  result.metrics["total_time"] = training_time + evaluation_time;
  training.describe(result.environment);
  result.series["loss"] = llvm::json::Array(course.losses);
  result.series["accuracy_curve"] = llvm::json::Array(course.accuracies);
  result.notes.insert(result.notes.begin(), training.notes().begin(), training.notes().end());
  if (const int64_t skipped = training.skippedByAll())
    result.notes.push_back(fmt::format("images that could not be decoded and were replaced: {}", skipped));
  if (folder && context.communicator.rank() == 0) {
    auto weights = folder->finish(settings.epochs);
    if (!weights) return weights.takeError();
    result.notes.push_back("the trained weights: " + *weights);
  }
  return result;
}

}  // namespace expc::workload::image
