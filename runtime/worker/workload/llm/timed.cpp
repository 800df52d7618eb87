#include "runtime/worker/workload/llm/timed.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/worker/profile/over_ranks.h"
#include "runtime/worker/workload/clock.h"
#include "runtime/worker/workload/llm/flops.h"
#include "runtime/worker/workload/llm/training.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload::llm {
namespace {

/// From which on a note says what would save it.
constexpr double kMuchPadding = 0.1;

/// Operations needed over what the devices could do in that time. What they could do is measured, after the clock, with
/// products of square matrices: no table of peaks knows a slice of a CPU or a card whose clocks are held down.
void addUtilisation(TrialContext& context, const Parameters& parameters, double flops, double wall,
                    plan::Event& result) {
  result.metrics["flops_utilisation"] = nullptr;
  if (!asked(context.spec, "flops_utilisation")) return;
  const double own =
      matrixRate(parameters.precision, context.device.torchDevice(), [&] { context.device.synchronize(); });
  const auto found = context.communicator.allReduce(std::vector<double>{-own}, comm::Reduction::Max);
  if (found[0] == 0) {
    result.notes.push_back("flops_utilisation: no memory was left to measure what the device can do");
    return;
  }
  const double rate = context.communicator.allReduce(own, comm::Reduction::Sum);
  result.metrics["flops_utilisation"] = std::min(1.0, flops / (rate * wall));
  result.notes.push_back(
      fmt::format("flops_utilisation: products of square matrices, measured after the clock, reach {:.4g} GFLOP/s on "
                  "all {} devices "
                  "together",
                  rate / 1e9, context.spec.world_size));
}

}  // namespace

llvm::Expected<plan::Event> runTimed(TrialContext& context, const Parameters& parameters, const Settings& wanted) {
  auto created = Training::create(context, parameters, wanted);
  if (!created) return created.takeError();
  Training& training = context.keep(std::move(*created));
  const Settings settings = wanted.over(training.stepsPerEpoch());
  if (context.spec.rehearsal) {
    auto result = rehearse(context, training, settings);
    if (result) result->environment["attention"] = training.attention();
    return result;
  }
  Work before;
  auto clocked = clockSteps(context, training, settings, [&] { before = training.work(); });
  if (!clocked) return clocked.takeError();
  const Work& after = training.work();
  const std::vector<double> work = context.communicator.allReduce(
      std::vector<double>{after.tokens - before.tokens, after.computed - before.computed, after.flops - before.flops},
      comm::Reduction::Sum);
  auto losses = training.takeLosses();
  if (!losses) return losses.takeError();

  const double items = static_cast<double>(training.itemsPerStep() * settings.steps);
  plan::Event result;
  result.type = plan::Event::Type::Result;
  result.environment["attention"] = training.attention();
  result.notes = training.notes();
  result.notes.insert(result.notes.end(), clocked->notes.begin(), clocked->notes.end());
  result.metrics["iteration_time"] = clocked->step;
  result.metrics["tokens_per_s"] = work[0] / clocked->wall;
  result.metrics["train_time"] = clocked->wall;
  result.metrics["epoch_time"] = static_cast<double>(training.items()) * clocked->wall / items;
  result.metrics["startup_time"] = clocked->startup;
  result.metrics["first_step_time"] = clocked->first_step;
  result.metrics["load_wait_share"] = std::min(1.0, clocked->load_wait / clocked->wall);
  const double padding = (work[1] - work[0]) / work[1];
  if (padding > kMuchPadding && !parameters.packing && parameters.method != Method::Dpo)
    result.notes.push_back(
        "more than a tenth of the tokens computed are padding: packing = true puts rows one behind the other");
  addResources(context, *clocked, result.metrics);
  result.metrics["padding_share"] = padding;
  addUtilisation(context, parameters, work[2], clocked->wall, result);
  result.series["step_time"] = llvm::json::Array(clocked->steps);  // rank 0's
  result.series["loss"] = llvm::json::Array(*losses);
  return result;
}

}  // namespace expc::workload::llm
