#include "runtime/worker/workload/llm/quality.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "runtime/worker/comm/alone.h"
#include "runtime/worker/workload/llm/training.h"
#include "runtime/worker/workload/trial_checkpoint.h"

namespace expc::workload::llm {
namespace {

using Clock = std::chrono::steady_clock;
using Checkpoint = CheckpointFolder::Checkpoint;

/// What a trial has so far; what a checkpoint keeps beside the training itself.
struct Course {
  std::vector<double> losses;
  double seconds = 0;  // of training
};

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Mean of the last tenth of the steps.
double finalLoss(const std::vector<double>& losses) {
  const auto count = static_cast<ptrdiff_t>((losses.size() + 9) / 10);
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

/// Takes up what the checkpoint has.
llvm::Error resume(Training& training, Course& course, const Checkpoint& checkpoint) {
  const llvm::json::Object* numbers = checkpoint.content.getObject("training");
  const llvm::json::Array* losses = checkpoint.content.getArray("losses");
  const auto seconds = checkpoint.content.getNumber("training_s");
  if (losses)
    for (const llvm::json::Value& value : *losses)
      if (const auto loss = value.getAsNumber()) course.losses.push_back(*loss);
  if (!numbers || !seconds ||
      static_cast<int64_t>(course.losses.size()) != checkpoint.epochs * training.stepsPerEpoch())
    return llvm::createStringError(
        fmt::format("{} does not have what this build keeps, or was written with other rows: remove it to begin the "
                    "trial anew",
                    checkpoint.path));
  course.seconds = *seconds;
  return training.restore(checkpoint.model, checkpoint.state, *numbers);
}

/// Every rank calls it: what the others know goes to the first, which writes for as long as its disk takes.
llvm::Error keep(TrialContext& context, Training& training, const CheckpointFolder& folder, int64_t epochs,
                 const Course& course) {
  Training::Snapshot snapshot = training.snapshot();
  const double seconds = context.communicator.allReduce(course.seconds, comm::Reduction::Max);
  return comm::whileOneWorks(context.communicator, 0, [&](const comm::CallOthers&) {
    return folder.save(epochs, snapshot.model, snapshot.rest,
                       llvm::json::Object{{"losses", llvm::json::Array(course.losses)},
                                          {"training_s", seconds},
                                          {"training", std::move(snapshot.numbers)}});
  });
}

/// The epochs from where the course stands.
llvm::Error train(TrialContext& context, Training& training, const CheckpointFolder* folder, int64_t epochs,
                  Course& course) {
  const int64_t each = training.stepsPerEpoch(), all = each * epochs;
  for (int64_t epoch = static_cast<int64_t>(course.losses.size()) / each; epoch < epochs; ++epoch) {
    context.device.synchronize();
    context.communicator.barrier();
    const auto begin = Clock::now();
    for (int64_t i = 0; i < each; ++i) {
      auto more = training.step();
      if (!more) return more.takeError();
      context.progress.report(static_cast<uint64_t>(epoch * each + i + 1), static_cast<uint64_t>(all), "epoch");
    }
    auto losses = training.takeLosses();
    if (!losses) return losses.takeError();
    context.device.synchronize();
    course.seconds += secondsSince(begin);
    course.losses.insert(course.losses.end(), losses->begin(), losses->end());
    if (folder)
      if (auto error = keep(context, training, *folder, epoch + 1, course)) return error;
  }
  context.progress.report(static_cast<uint64_t>(all), static_cast<uint64_t>(all), "evaluate");
  return llvm::Error::success();
}

llvm::json::Value orNull(const std::optional<double>& value) {
  return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
}

}  // namespace

llvm::Expected<plan::Event> runQuality(TrialContext& context, const Parameters& parameters, const Settings& settings) {
  auto kept = openCheckpoints(context, parameters.checkpoints);
  if (!kept) return kept.takeError();
  auto& [folder, checkpoint] = *kept;
  auto created = Training::create(context, parameters, settings);
  if (!created) return created.takeError();
  Training& training = context.keep(std::move(*created));
  Course course;
  plan::Event result;
  result.type = plan::Event::Type::Result;
  result.environment["attention"] = training.attention();
  result.notes = training.notes();
  if (checkpoint) {
    if (auto error = resume(training, course, *checkpoint)) return error;
    result.notes.push_back(wentOnFrom(*checkpoint, settings.epochs));
    checkpoint.reset();
  }
  if (auto error = train(context, training, folder ? &*folder : nullptr, settings.epochs, course)) return error;
  const auto begin = Clock::now();
  auto evaluated = training.evaluate();
  if (!evaluated) return evaluated.takeError();
  const Evaluation& evaluation = *evaluated;
  if (!std::isfinite(evaluation.loss))
    return llvm::createStringError(
        "the loss on the rows held out is not finite after the last step: the training diverged; lower learning_rate "
        "or use a wider precision");
  course.seconds += secondsSince(begin);
  result.metrics["final_loss"] = finalLoss(course.losses);
  result.metrics["evaluation_loss"] = evaluation.loss;
  result.metrics["reward_margin"] = orNull(evaluation.margin);
  result.metrics["reward_accuracy"] = orNull(evaluation.accuracy);
  result.metrics["total_time"] = context.communicator.allReduce(course.seconds, comm::Reduction::Max);
  result.series["loss"] = llvm::json::Array(course.losses);
  if (folder) {
    auto written = training.save(folder->path());
    if (!written) return written.takeError();
    result.notes.insert(result.notes.end(), written->begin(), written->end());
    if (context.communicator.rank() == 0) folder->clear();
  }
  return result;
}

}  // namespace expc::workload::llm
