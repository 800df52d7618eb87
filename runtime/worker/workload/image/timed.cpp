#include "runtime/worker/workload/image/timed.h"

#include <algorithm>

#include "runtime/worker/device/host.h"
#include "runtime/worker/device/nvml_energy.h"
#include "runtime/worker/profile/over_ranks.h"
#include "runtime/worker/workload/image/training.h"

namespace expc::workload::image {
namespace {

using Clock = std::chrono::steady_clock;

double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// What a rank measured itself; the trial's value is the largest over the ranks.
struct Own {
  double startup = 0, first_step = 0, wall = 0, step = 0, load_wait = 0;
  std::vector<double> all() const { return {startup, first_step, wall, step, load_wait}; }
  static Own from(const std::vector<double>& v) { return {v[0], v[1], v[2], v[3], v[4]}; }
};

/// A barrier on an idle device: where the clock starts and ends.
Clock::time_point meet(TrialContext& context) {
  context.device.synchronize();
  context.communicator.barrier();
  return Clock::now();
}

llvm::Error runSteps(TrialContext& context, Training& training, int64_t count, std::string_view phase) {
  for (int64_t i = 0; i < count; ++i) {
    auto more = training.step();
    if (!more) return more.takeError();
    context.device.mark();
    context.progress.report(static_cast<uint64_t>(i + 1), static_cast<uint64_t>(count), phase);
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<plan::Event> runTimed(TrialContext& context, const Parameters& parameters, const Settings& settings) {
  auto created = Training::create(context, parameters, 0);
  if (!created) return created.takeError();
  Training& training = **created;
  device::Device& device = context.device;

  Own own;
  own.startup = secondsBetween(context.process_start, meet(context));
  device.clearMarks(static_cast<size_t>(settings.warmup) + 1);
  device.mark();
  if (auto error = runSteps(context, training, settings.warmup, "warmup")) return error;
  if (settings.warmup > 0) own.first_step = device.intervals().front();

  const std::optional<double> energy_before = device.energy();
  const Clock::time_point begin = meet(context);
  const double waited_before = training.loadWaitSeconds();
  device.clearMarks(static_cast<size_t>(settings.steps) + 1);
  device.mark();
  if (auto error = runSteps(context, training, settings.steps, "steps")) return error;
  own.load_wait = training.loadWaitSeconds() - waited_before;
  own.wall = secondsBetween(begin, meet(context));
  const std::optional<double> energy_after = device.energy();

  const std::vector<double> steps = device.intervals();
  own.step = median(steps);
  if (settings.warmup == 0) own.first_step = steps.front();
  const Own worst = Own::from(context.communicator.allReduce(own.all(), comm::Reduction::Max));
  const int64_t skipped = training.skippedByAll();
  auto losses = training.takeLosses();
  if (!losses) return losses.takeError();

  const double images = static_cast<double>(parameters.batch * parameters.gpus * settings.steps);
  plan::Event result;
  result.type = plan::Event::Type::Result;
  result.notes = training.notes();
  result.metrics["step_time"] = worst.step;
  result.metrics["images_per_s"] = images / worst.wall;
  result.metrics["train_time"] = worst.wall;
  result.metrics["epoch_time"] = static_cast<double>(training.trainImages().count()) * worst.wall / images;
  result.metrics["startup_time"] = worst.startup;
  result.metrics["first_step_time"] = worst.first_step;
  result.metrics["load_wait_time"] = worst.load_wait;
  result.metrics["load_wait_share"] = std::min(1.0, worst.load_wait / worst.wall);
  result.metrics["images_skipped"] = skipped;
  // The counter is of the whole device: other ranks' devices have their own.
  const std::optional<double> energy = device::energyBetween(energy_before, energy_after);
  if (energy_before && !energy)
    result.notes.push_back(
        "the energy counter did not move during the timed steps, so energy is not known: more steps");
  profile::reduce(context.communicator,
                  {{"host_memory_peak", profile::Over::Max, device::residentPeak()},
                   {"device_memory_peak", profile::Over::Max, device.memoryPeak()},
                   {"energy", profile::Over::Sum, energy}},
                  result.metrics);
  result.series["step_time"] = llvm::json::Array(steps);  // rank 0's
  result.series["loss"] = llvm::json::Array(*losses);
  return result;
}

}  // namespace expc::workload::image
