// What trials say of a fine-tuning.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/clock.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

/// From which on a note says what would save it.
constexpr double kMuchPadding = 0.1;

/// Mean of the last tenth of the steps.
double finalLoss(const std::vector<double>& losses) {
  const auto count = static_cast<ptrdiff_t>((losses.size() + 9) / 10);
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

llvm::json::Value orNull(const std::optional<double>& value) {
  return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
}

}  // namespace

void Training::describe(llvm::json::Object& environment) const {
  environment["attention"] = decoder_->attention().name();
}

void Training::addUtilisation(double flops, double wall, plan::Event& result) {
  result.metrics["flops_utilisation"] = nullptr;
  if (!asked(context_.spec, "flops_utilisation")) return;
  const double own =
      matrixRate(parameters_.precision, context_.device.torchDevice(), [&] { context_.device.synchronize(); });
  const auto found = context_.communicator.allReduce(std::vector<double>{-own}, comm::Reduction::Max);
  if (found[0] == 0) {
    result.notes.push_back("flops_utilisation: no memory was left to measure what the device can do");
    return;
  }
  const double rate = context_.communicator.allReduce(own, comm::Reduction::Sum);
  result.metrics["flops_utilisation"] = std::min(1.0, flops / (rate * wall));
  result.notes.push_back(
      fmt::format("flops_utilisation: products of square matrices, measured after the clock, reach {:.4g} GFLOP/s on "
                  "all {} devices together",
                  rate / 1e9, context_.spec.world_size));
}

void Training::addTimed(const Clocked& clocked, int64_t steps, plan::Event& result) {
  const std::vector<double> work = context_.communicator.allReduce(
      std::vector<double>{work_.tokens, work_.computed, work_.flops}, comm::Reduction::Sum);
  const double items = static_cast<double>(order_->itemsPerStep() * steps);
  result.metrics["iteration_time"] = clocked.step;
  result.metrics["tokens_per_s"] = work[0] / clocked.wall;
  result.metrics["epoch_time"] = static_cast<double>(rows_->train.count()) * clocked.wall / items;
  const double padding = (work[1] - work[0]) / work[1];
  if (padding > kMuchPadding && !parameters_.packing && parameters_.method != Method::Dpo)
    result.notes.push_back(
        "more than a tenth of the tokens computed are padding: packing = true puts rows one behind the other");
  result.metrics["padding_share"] = padding;
  addUtilisation(work[2], clocked.wall, result);
}

llvm::Error Training::addQuality(Course& course, plan::Event& result) {
  const auto begin = std::chrono::steady_clock::now();
  auto evaluated = evaluate();
  if (!evaluated) return evaluated.takeError();
  if (!std::isfinite(evaluated->loss))
    return llvm::createStringError(
        "the loss on the rows held out is not finite after the last step: the training diverged; lower learning_rate "
        "or use a wider precision");
  const double evaluation_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.metrics["final_loss"] = finalLoss(course.losses);
  result.metrics["evaluation_loss"] = evaluated->loss;
  result.metrics["reward_margin"] = orNull(evaluated->margin);
  result.metrics["reward_accuracy"] = orNull(evaluated->accuracy);
  result.metrics["total_time"] =
      context_.communicator.allReduce(course.training_s + evaluation_s, comm::Reduction::Max);
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>> Training::leave(const CheckpointFolder& folder, int64_t) {
  auto written = saveArtefacts(*decoder_, parameters_, origin_, folder.path(), context_.communicator);
  if (written && context_.communicator.rank() == 0) folder.clear();
  return written;
}

}  // namespace expc::workload::llm
