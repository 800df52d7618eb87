// What trials say of a training of images.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "runtime/worker/profile/over_ranks.h"
#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/clock.h"
#include "runtime/worker/workload/image/training.h"

namespace expc::workload::image {

void Training::describe(llvm::json::Object& environment) const {
  if (graph_ && graph_->recorded()) environment["step_graph_nodes"] = static_cast<int64_t>(graph_->nodes());
}

int64_t Training::skippedByAll() {
  const auto own = static_cast<double>(feed_->skipped());
  return static_cast<int64_t>(context_.communicator.allReduce(own, comm::Reduction::Sum));
}

void Training::addTimed(const Clocked& clocked, int64_t steps, plan::Event& result) {
  const double images = static_cast<double>(parameters_.batch * parameters_.gpus * steps);
  result.metrics["step_time"] = clocked.step;
  result.metrics["images_per_s"] = images / clocked.wall;
  result.metrics["epoch_time"] = static_cast<double>(sets_.train->count()) * clocked.wall / images;
  result.metrics["load_wait_time"] = clocked.load_wait;
  result.metrics["images_skipped"] = skippedByAll();
  profile::reduce(context_.communicator, {{"epoch_pause_time", profile::Over::Max, epoch_pause_}}, result.metrics);
}

llvm::Expected<double> Training::evaluate(const data::Images& images, Course& course) {
  const auto begin = std::chrono::steady_clock::now();
  auto share = accuracy(images);
  context_.device.synchronize();
  course.evaluation_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return share;
}

llvm::Error Training::evaluateEpoch(Course& course) {
  auto share = evaluate(*sets_.test, course);
  if (!share) return share.takeError();
  course.accuracies.push_back(*share);
  return llvm::Error::success();
}

llvm::Error Training::addQuality(Course& course, plan::Event& result) {
  result.metrics["accuracy"] = course.accuracies.back();
  if (asked(context_.spec, "train_accuracy")) {
    auto share = evaluate(*sets_.train, course);
    if (!share) return share.takeError();
    result.metrics["train_accuracy"] = *share;
  }
  llvm::json::Array epoch_losses;
  for (auto at = course.losses.begin(); at != course.losses.end(); at += steps_per_epoch_)
    epoch_losses.push_back(std::accumulate(at, at + steps_per_epoch_, 0.0) / static_cast<double>(steps_per_epoch_));
  result.metrics["final_loss"] = epoch_losses.back();
  result.series["epoch_loss"] = std::move(epoch_losses);
  result.series["accuracy_curve"] = llvm::json::Array(course.accuracies);
  comm::Communicator& ranks = context_.communicator;
  profile::reduce(ranks, {{"evaluation_pause_time", profile::Over::Max, evaluation_pause_}}, result.metrics);
  const double training_time = ranks.allReduce(course.training_s, comm::Reduction::Max);
  const double evaluation_time = ranks.allReduce(course.evaluation_s, comm::Reduction::Max);
  result.metrics["quality_train_time"] = training_time;
  result.metrics["evaluation_time"] = evaluation_time;
  result.metrics["total_time"] = training_time + evaluation_time;
  if (const int64_t skipped = skippedByAll())
    result.notes.push_back(fmt::format("images that could not be decoded and were replaced: {}", skipped));
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>> Training::leave(const CheckpointFolder& folder, int64_t epochs) {
  std::vector<std::string> notes;
  if (context_.communicator.rank() != 0) return notes;
  auto weights = folder.finish(epochs);
  if (!weights) return weights.takeError();
  notes.push_back("the trained weights: " + *weights);
  return notes;
}

}  // namespace expc::workload::image
