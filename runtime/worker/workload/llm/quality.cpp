#include "runtime/worker/workload/llm/quality.h"

#include <chrono>
#include <numeric>

#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

using Clock = std::chrono::steady_clock;

/// Mean of the last tenth of the steps.
double finalLoss(const std::vector<double>& losses) {
  const auto count = static_cast<ptrdiff_t>((losses.size() + 9) / 10);
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

}  // namespace

llvm::Expected<plan::Event> runQuality(TrialContext& context, const Parameters& parameters, const Settings& settings) {
  auto created = Training::create(context, parameters, settings);
  if (!created) return created.takeError();
  Training& training = **created;
  context.device.synchronize();
  context.communicator.barrier();
  const auto begin = Clock::now();
  const int64_t each = training.stepsPerEpoch(), all = each * settings.epochs;
  std::vector<double> losses;
  for (int64_t step = 0; step < all; ++step) {
    auto more = training.step();
    if (!more) return more.takeError();
    context.progress.report(static_cast<uint64_t>(step + 1), static_cast<uint64_t>(all), "epoch");
    if ((step + 1) % each != 0) continue;
    auto of_epoch = training.takeLosses();
    if (!of_epoch) return of_epoch.takeError();
    losses.insert(losses.end(), of_epoch->begin(), of_epoch->end());
  }
  context.progress.report(static_cast<uint64_t>(all), static_cast<uint64_t>(all), "evaluate");
  const Evaluation evaluation = training.evaluate();
  context.device.synchronize();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();

  plan::Event result;
  result.type = plan::Event::Type::Result;
  result.notes = training.notes();
  result.metrics["final_loss"] = finalLoss(losses);
  result.metrics["evaluation_loss"] = evaluation.loss;
  const auto orNull = [](const std::optional<double>& value) {
    return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
  };
  result.metrics["reward_margin"] = orNull(evaluation.margin);
  result.metrics["reward_accuracy"] = orNull(evaluation.accuracy);
  result.metrics["total_time"] = context.communicator.allReduce(seconds, comm::Reduction::Max);
  result.series["loss"] = llvm::json::Array(losses);
  return result;
}

}  // namespace expc::workload::llm
