#include "runtime/worker/workload/image/timed.h"

#include <algorithm>

#include "runtime/worker/profile/over_ranks.h"
#include "runtime/worker/workload/clock.h"
#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload::image {

llvm::Expected<plan::Event> runTimed(TrialContext& context, const Parameters& parameters, const Settings& wanted) {
  auto created = Training::create(context, parameters, 0);
  if (!created) return created.takeError();
  Training& training = context.keep(std::move(*created));
  const Settings settings = wanted.over(training.stepsPerEpoch());
  if (context.spec.rehearsal) {
    auto result = rehearse(context, training, settings);
    if (result) training.describe(result->environment);
    return result;
  }
  auto clocked = clockSteps(context, training, settings);
  if (!clocked) return clocked.takeError();
  const int64_t skipped = training.skippedByAll();
  auto losses = training.takeLosses();
  if (!losses) return losses.takeError();

  const double images = static_cast<double>(parameters.batch * parameters.gpus * settings.steps);
  plan::Event result;
  result.type = plan::Event::Type::Result;
  result.notes = training.notes();
  result.notes.insert(result.notes.end(), clocked->notes.begin(), clocked->notes.end());
  result.metrics["step_time"] = clocked->step;
  result.metrics["images_per_s"] = images / clocked->wall;
  result.metrics["train_time"] = clocked->wall;
  result.metrics["epoch_time"] = static_cast<double>(training.trainImages().count()) * clocked->wall / images;
  result.metrics["startup_time"] = clocked->startup;
  result.metrics["first_step_time"] = clocked->first_step;
  profile::reduce(context.communicator, {{"epoch_pause_time", profile::Over::Max, training.epochPause()}},
                  result.metrics);
  result.metrics["load_wait_time"] = clocked->load_wait;
  result.metrics["load_wait_share"] = std::min(1.0, clocked->load_wait / clocked->wall);
  result.metrics["images_skipped"] = skipped;
  addResources(context, *clocked, result.metrics);
  result.series["step_time"] = llvm::json::Array(clocked->steps);  // rank 0's
  training.describe(result.environment);
  result.series["loss"] = llvm::json::Array(*losses);
  return result;
}

}  // namespace expc::workload::image
