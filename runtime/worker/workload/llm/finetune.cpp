// The workload: how a trial of it runs, and what it says of its training.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

llvm::Expected<plan::Event> run(TrialContext& context) {
  return runTraining(context, readParameters, [&](Parameters& parameters, const Settings& settings, bool made_up) {
    if (made_up) {
      // Nobody knows how long the rows are, and the longest that there can be take most. Each step has its own, since
      // dpo asks the reference of a row once.
      parameters.data.longest = true;
      parameters.data.synthetic = parameters.batch * parameters.accumulation * parameters.gpus *
                                  (settings.warmup + settings.steps + kTracedSteps);
    }
    return [&](int64_t) { return Training::create(context, parameters, settings); };
  });
}

/// From which on a note says what would save it.
constexpr double kMuchPadding = 0.1;

/// Mean of the last tenth of the steps.
double finalLoss(const std::vector<double>& losses) {
  const auto count = static_cast<ptrdiff_t>((losses.size() + 9) / 10);
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

/// `work` is that of all ranks, in `items`, of which an epoch has `of_epoch`.
std::vector<profile::Measure> timed(const Clocked& clocked, const Work& work, double items, double of_epoch,
                                    std::optional<double> utilisation) {
  return {{"iteration_time", clocked.step},
          {"tokens_per_s", work.tokens / clocked.wall},
          {"epoch_time", of_epoch * clocked.wall / items},
          {"padding_share", work.padding()},
          {"flops_utilisation", utilisation}};
}

Judged judged(const std::vector<double>& losses, const Evaluation& evaluated, double total_time) {
  return {{{"final_loss", finalLoss(losses)},
           {"evaluation_loss", evaluated.loss},
           {"reward_margin", evaluated.margin},
           {"reward_accuracy", evaluated.accuracy},
           {"total_time", total_time}},
          {{"loss", losses}}};
}

}  // namespace

std::vector<Metric> Training::metrics() { return metricsOf(timed({}, {}, 0, 0, {}), judged({}, {}, 0)); }

void Training::describe(llvm::json::Object& environment) const {
  environment["attention"] = decoder_->attention().name();
}

std::optional<double> Training::utilisation(double flops, double wall) {
  if (!asked(context_.spec, "flops_utilisation")) return std::nullopt;
  const double own =
      matrixRate(parameters_.precision, context_.device.torchDevice(), [&] { context_.device.synchronize(); });
  const auto found = context_.communicator.allReduce(std::vector<double>{-own}, comm::Reduction::Max);
  if (found[0] == 0) {
    notes_.push_back("flops_utilisation: no memory was left to measure what the device can do");
    return std::nullopt;
  }
  const double rate = context_.communicator.allReduce(own, comm::Reduction::Sum);
  notes_.push_back(
      fmt::format("flops_utilisation: products of square matrices, measured after the clock, reach {:.4g} GFLOP/s on "
                  "all {} devices together",
                  rate / 1e9, context_.spec.world_size));
  return std::min(1.0, flops / (rate * wall));
}

std::vector<profile::Measure> Training::measure(const Clocked& clocked, int64_t steps) {
  const std::vector<double> sums = context_.communicator.allReduce(
      std::vector<double>{work_.tokens, work_.computed, work_.flops}, comm::Reduction::Sum);
  const Work all{sums[0], sums[1], sums[2]};
  if (all.padding() > kMuchPadding && !parameters_.packing && parameters_.method != Method::Dpo)
    notes_.push_back(
        "more than a tenth of the tokens computed are padding: packing = true puts rows one behind the other");
  return timed(clocked, all, static_cast<double>(order_->itemsPerStep() * steps),
               static_cast<double>(rows_->train.count()), utilisation(all.flops, clocked.wall));
}

llvm::Expected<Judged> Training::judge(Course& course) {
  const auto begin = std::chrono::steady_clock::now();
  auto evaluated = evaluate();
  if (!evaluated) return evaluated.takeError();
  if (!std::isfinite(evaluated->loss))
    return llvm::createStringError(
        "the loss on the rows held out is not finite after the last step: the training diverged; lower learning_rate "
        "or use a wider precision");
  const double evaluation_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return judged(course.losses, *evaluated,
                context_.communicator.allReduce(course.training_s + evaluation_s, comm::Reduction::Max));
}

Workload finetune() { return {{"llm.finetune", 1, declaredParameters(), Training::metrics()}, run}; }

}  // namespace expc::workload::llm
