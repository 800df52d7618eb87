#include "runtime/worker/workload/image/quality.h"

#include <algorithm>
#include <numeric>

#include "runtime/worker/workload/image/training.h"

namespace expc::workload::image {
namespace {

using Clock = std::chrono::steady_clock;

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

bool asked(const plan::TrialSpec& spec, std::string_view metric) {
  return spec.metrics.empty() || std::find(spec.metrics.begin(), spec.metrics.end(), metric) != spec.metrics.end();
}

}  // namespace

llvm::Expected<plan::Event> runQuality(TrialContext& context, const Parameters& parameters, const Settings& settings) {
  auto created = Training::create(context, parameters, settings.epochs);
  if (!created) return created.takeError();
  Training& training = **created;

  std::vector<double> losses, accuracies;
  double wall = 0, evaluating = 0, final_loss = 0;
  for (int64_t epoch = 0; epoch < settings.epochs; ++epoch) {
    auto seconds = runEpoch(context, training, epoch, settings.epochs);
    if (!seconds) return seconds.takeError();
    wall += *seconds;
    auto epoch_losses = training.takeLosses();
    if (!epoch_losses) return epoch_losses.takeError();
    final_loss =
        std::accumulate(epoch_losses->begin(), epoch_losses->end(), 0.0) / static_cast<double>(epoch_losses->size());
    losses.insert(losses.end(), epoch_losses->begin(), epoch_losses->end());
    context.progress.report(static_cast<uint64_t>(epoch + 1), static_cast<uint64_t>(settings.epochs), "evaluate");
    auto accuracy = evaluate(context, training, training.testImages(), evaluating);
    if (!accuracy) return accuracy.takeError();
    accuracies.push_back(*accuracy);
  }

  plan::Event result;
  result.type = plan::Event::Type::Result;
  result.metrics["accuracy"] = accuracies.back();
  if (asked(context.spec, "train_accuracy")) {
    auto accuracy = evaluate(context, training, training.trainImages(), evaluating);
    if (!accuracy) return accuracy.takeError();
    result.metrics["train_accuracy"] = *accuracy;
  }
  result.metrics["final_loss"] = final_loss;
  const double training_time = context.communicator.allReduce(wall, comm::Reduction::Max);
  const double evaluation_time = context.communicator.allReduce(evaluating, comm::Reduction::Max);
  result.metrics["quality_train_time"] = training_time;
  result.metrics["evaluation_time"] = evaluation_time;
  result.metrics["total_time"] = training_time + evaluation_time;
  result.series["loss"] = llvm::json::Array(losses);
  result.series["accuracy_curve"] = llvm::json::Array(accuracies);
  return result;
}

}  // namespace expc::workload::image
