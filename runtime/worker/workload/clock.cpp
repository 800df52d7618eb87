// The clock of timed trials (docs/layers/engine.md).

#include <algorithm>
#include <utility>

#include "runtime/worker/device/device.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload {
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

/// A barrier on an idle device: where the clock starts and ends.
Clock::time_point meet(TrialContext& context) {
  context.device.synchronize();
  context.communicator.barrier();
  return Clock::now();
}

llvm::Expected<Clocked> clockSteps(TrialContext& context, Training& training, const Settings& settings) {
  device::Device& device = context.device;
  Clocked result;
  const double startup = secondsBetween(context.process_start, meet(context));
  device.clearMarks(static_cast<size_t>(settings.warmup) + 1);
  device.mark();
  if (auto error = runSteps(context, training, settings.warmup, "warmup", true)) return error;
  double first_step = settings.warmup > 0 ? device.intervals().front() : 0;
  training.beginTimed();

  const std::optional<double> energy_before = device.energy();
  const Clock::time_point begin = meet(context);
  const double waited_before = training.loadWaitSeconds();
  device.resetMemoryPeaks();  // what start-up and warm-up took only once is no step's
  device.clearMarks(static_cast<size_t>(settings.steps) + 1);
  device.mark();
  if (auto error = runSteps(context, training, settings.steps, "steps", true)) return error;
  const double load_wait = training.loadWaitSeconds() - waited_before;
  const double wall = secondsBetween(begin, meet(context));
  const std::optional<double> energy_after = device.energy();

  result.steps = device.intervals();
  if (settings.warmup == 0) first_step = result.steps.front();
  const std::vector<double> worst = context.communicator.allReduce(
      std::vector<double>{startup, first_step, wall, median(result.steps), load_wait}, comm::Reduction::Max);
  result.startup = worst[0];
  result.first_step = worst[1];
  result.wall = worst[2];
  result.step = worst[3];
  result.load_wait = worst[4];
  result.energy = device::energyBetween(energy_before, energy_after);
  if (energy_before && !result.energy)
    result.notes.push_back(
        "the energy counter did not move during the timed steps, so energy is not known: more steps");
  return result;
}

}  // namespace

std::vector<profile::Measure> timedMetrics(const Clocked& clocked) {
  const auto peak = [&](double device::MemoryPeaks::* of) {
    return clocked.device_memory ? std::optional(*clocked.device_memory.*of) : std::nullopt;
  };
  return {{"train_time", clocked.wall},
          {"startup_time", clocked.startup},
          {"first_step_time", clocked.first_step},
          {"load_wait_share", std::min(1.0, clocked.load_wait / clocked.wall)},
          {"host_memory_peak", clocked.host_memory},
          {"device_memory_peak", peak(&device::MemoryPeaks::held)},
          {"device_memory_allocated_peak", peak(&device::MemoryPeaks::allocated)},
          // The counter is of the whole device: other ranks' devices have their own.
          {"energy", clocked.energy, profile::Over::Sum}};
}

llvm::Expected<plan::Event> timedTrial(TrialContext& context, Training& training, const Settings& settings) {
  auto clocked = clockSteps(context, training, settings);
  if (!clocked) return clocked.takeError();
  auto losses = training.takeLosses();
  if (!losses) return losses.takeError();
  clocked->host_memory = device::residentPeak();
  clocked->device_memory = context.device.memoryPeaks();
  std::vector<profile::Measure> metrics = timedMetrics(*clocked);
  for (profile::Measure& own : training.measure(*clocked, settings.steps)) metrics.push_back(std::move(own));
  plan::Event result;
  result.type = plan::Event::Type::Result;
  profile::reduce(context.communicator, metrics, result.metrics);
  result.notes = training.notes();
  result.notes.insert(result.notes.end(), clocked->notes.begin(), clocked->notes.end());
  result.series["step_time"] = llvm::json::Array(clocked->steps);  // rank 0's
  result.series["loss"] = llvm::json::Array(*losses);
  return result;
}

}  // namespace expc::workload
