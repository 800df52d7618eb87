// The base of trainings, the clock, and timed trials. The clock starts and ends at a barrier with idle devices;
// between the two nothing waits for the device. Everything that costs time (reducing values over ranks, reading
// losses) comes after it.

#include "runtime/worker/workload/training.h"

#include <ATen/ATen.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/model/state_file.h"

namespace expc::workload {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// A barrier on an idle device, where the clock starts and ends.
base::Clock::time_point meet(TrialContext& context) {
  context.device.synchronize();
  context.communicator.barrier();
  return base::Clock::now();
}

/// Runs warm-up and timed steps. Steps are timed by marks on the device, so the host need not wait for any of them.
Expected<Clocked> clockSteps(TrialContext& context, Training& training, const Settings& settings) {
  device::Device& device = context.device;
  const double startup = base::secondsBetween(context.process_start, meet(context));
  device.clearMarks(size_t(settings.warmup) + 1);
  device.mark();
  TRY(runSteps(context, training, settings.warmup, "warmup", true));
  // The first step is the first of the warm-up, or of the timed steps if there is none.
  double first_step = settings.warmup > 0 ? device.intervals().front() : 0;
  training.beginTimed();

  // The energy counter is read outside of the clock on both sides. It changes every 20 to 100 ms, so trials should
  // last seconds (docs/layers/worker.md).
  const std::optional<double> energy_before = device.energy();
  const base::Clock::time_point begin = meet(context);
  const double waited_before = training.loadWaitSeconds();
  device.resetMemoryPeaks();  // start-up and warm-up may have taken memory once only
  device.clearMarks(size_t(settings.steps) + 1);
  device.mark();
  TRY(runSteps(context, training, settings.steps, "steps", true));
  // Every step is queued now. The clock stops when the slowest rank's device is idle.
  const double load_wait = training.loadWaitSeconds() - waited_before;
  const double wall = base::secondsBetween(begin, meet(context));
  const std::optional<double> energy_after = device.energy();

  std::vector<double> steps = device.intervals();
  if (settings.warmup == 0) first_step = steps.front();
  // The slowest rank decides each value: ranks wait for each other in every step.
  const std::vector<double> worst =
      context.communicator.allReduce({startup, first_step, wall, median(steps), load_wait}, comm::Reduction::Max);
  Clocked result{worst[0], worst[1], worst[2], worst[3], worst[4], std::move(steps)};
  // Devices without a counter give nothing; one that did not move gives nothing either, and a note.
  result.energy = device::energyBetween(energy_before, energy_after);
  if (energy_before && !result.energy)
    result.notes.push_back(
        "the energy counter did not change during the timed steps, so energy is unknown: use more steps");
  return result;
}

/// The note that says why memory peaks have no value, with settings of torch's allocator that may be the reason.
std::string uncountedText(const device::MemoryPeaks& peaks) {
  std::vector<std::string> names;
  std::string set;
  for (const auto& [name, bytes] :
       {std::pair("device_memory_peak", peaks.held), std::pair("device_memory_allocated_peak", peaks.allocated)})
    if (bytes == 0) names.emplace_back(name);
  for (const char* name : {"PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
    if (const char* value = std::getenv(name)) set += fmt::format(" {}={}", name, value);
  return fmt::format("torch's allocator counted no memory for {}, so the metric has no value{}", base::listed(names),
                     set.empty() ? "" : fmt::format("; set in the environment:{}", set));
}

}  // namespace

void Training::begin(bool pin_memory) {
  if (pin_memory && !context_.device.pinnedMemory())
    notes_.push_back("pin_memory has no effect: there is no accelerator, so batches stay in ordinary memory");
  context_.progress.report(0, 1, "load");
}

void Training::connect() {
  // On the device, so that the path is the one that gradients take.
  auto first = at::zeros({1}, at::TensorOptions(at::kFloat).device(context_.device.torchDevice()));
  context_.communicator.allReduce(first, comm::Reduction::Sum);
  context_.device.synchronize();
}

Expected<std::vector<double>> Training::takeLosses() {
  std::vector<double> sums;
  // One copy for all losses: each would wait for the device.
  if (!losses_.empty()) {
    const auto all = at::stack(losses_).to(at::kCPU, at::kDouble).contiguous();
    sums.assign(all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel());
  }
  losses_.clear();
  sums = context_.communicator.allReduce(std::move(sums), comm::Reduction::Sum);
  // The number of the step before the first loss; messages count steps from 1.
  const int64_t first = steps_done_ - std::ssize(sums);
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t step = first + int64_t(i) + 1;
    if (!std::isfinite(sums[i]) && step == 1)
      return failure(
          "the loss of step 1, before anything is learned, is not finite: weights or data contain NaN or infinity, or "
          "overflow in this precision");
    // Only the first loss that is not finite is worth a note: those after it follow from it.
    if (!std::isfinite(sums[i]) && !std::exchange(diverged_, true))
      notes_.push_back(fmt::format(
          "the training diverged: the loss of step {} is not finite; lower learning_rate or use a wider precision",
          step));
    sums[i] /= partsOfLoss();
  }
  return sums;
}

Expected<at::Tensor> Training::restoreOptimizer(
    optimizer::Optimizer& optimizer, const safetensors::File& rest, StringRef own,
    const std::function<Expected<at::Tensor>(const safetensors::TensorInfo&)>& read) {
  // An unknown tensor means another build's state, and dropping it would change the training in silence.
  const std::string prefix = optimizerName("");
  optimizer::Optimizer::State state;
  at::Tensor result;
  for (const safetensors::TensorInfo& info : rest.tensors()) {
    auto tensor = TRY(read(info));
    StringRef name = info.name;
    if (name == own)
      result = tensor;
    else if (name.consume_front(prefix))
      state.emplace_back(name.str(), tensor);
    else
      return failure("{}: unknown tensor {}", rest.path(), info.name);
  }
  TRY(prefixed(rest.path(), optimizer.restore(state)));
  return result;
}

std::vector<profile::Measure> timedMetrics(const Clocked& clocked) {
  // A peak of zero means that the allocator did not count: no training does without memory.
  const auto peak = [&](double device::MemoryPeaks::* of) {
    const bool counted = clocked.device_memory && *clocked.device_memory.*of > 0;
    return counted ? std::optional(*clocked.device_memory.*of) : std::nullopt;
  };
  return {{"train_time", clocked.wall},
          {"startup_time", clocked.startup},
          {"first_step_time", clocked.first_step},
          {"load_wait_share", std::min(1.0, clocked.load_wait / clocked.wall)},
          {"host_memory_peak", clocked.host_memory},
          {"device_memory_peak", peak(&device::MemoryPeaks::held)},
          {"device_memory_allocated_peak", peak(&device::MemoryPeaks::allocated)},
          // The counter covers the whole device, and each rank has devices of its own: a sum counts each once.
          {"energy", clocked.energy, profile::Over::Sum}};
}

// Losses are taken after the clock: reading them waits for the device.
Expected<protocol::Event> timedTrial(TrialContext& context, Training& training, const Settings& settings) {
  auto clocked = TRY(clockSteps(context, training, settings));
  auto losses = TRY(training.takeLosses());
  clocked.host_memory = device::residentPeak();
  clocked.device_memory = context.device.memoryPeaks();
  if (const auto& peaks = clocked.device_memory; peaks && std::min(peaks->held, peaks->allocated) == 0)
    clocked.notes.push_back(uncountedText(*peaks));
  std::vector<profile::Measure> metrics = timedMetrics(clocked);
  for (profile::Measure& own : training.measure(clocked, settings.steps)) metrics.push_back(std::move(own));
  protocol::Event result{.type = protocol::Event::Type::Result};
  profile::reduce(context.communicator, metrics, result.metrics);
  result.notes = training.notes();
  llvm::append_range(result.notes, clocked.notes);
  result.series["step_time"] = json::Array(clocked.steps);  // rank 0's
  result.series["loss"] = json::Array(losses);
  return result;
}

std::vector<Metric> metricsOf(const std::vector<profile::Measure>& timed, const QualityResult& judged) {
  std::vector<Metric> all;
  const auto add = [&](const std::vector<profile::Measure>& measures, TrialKind kind) {
    for (const profile::Measure& measure : measures) all.push_back({measure.name, kind});
  };
  add(timed, TrialKind::Timed);
  add(timedMetrics(Clocked()), TrialKind::Timed);
  add(judged.metrics, TrialKind::Quality);
  for (const auto& series : judged.series) all.push_back({series.first, TrialKind::Quality});
  add(profileMetrics(), TrialKind::Profile);
  return all;
}

Error runSteps(TrialContext& context, Training& training, int64_t count, std::string_view phase, bool marked) {
  for (int64_t i = 0; i < count; ++i) {
    TRY(training.step());
    if (marked) context.device.mark();
    context.progress.report(uint64_t(i + 1), uint64_t(count), phase);
  }
  return Error::success();
}

/// A quality trial makes its training itself, because a checkpoint decides at which epoch it starts.
Expected<protocol::Event> runTraining(TrialContext& context, const Settings& settings, const std::string& checkpoints,
                                      const MakeTraining& make) {
  if (context.spec.kind == TrialKind::Quality) return qualityTrial(context, settings.epochs, checkpoints, make);
  auto created = TRY(make(0));
  Training& training = context.keep(std::move(created));
  // A length in epochs is only known in steps once the training knows its data.
  const Settings lengths = settings.over(training.stepsPerEpoch());
  auto result = context.spec.rehearsal                  ? rehearse(context, training, lengths)
                : context.spec.kind == TrialKind::Timed ? timedTrial(context, training, lengths)
                                                        : profileTrial(context, training, lengths);
  if (result) training.describe(result->environment);
  return result;
}

}  // namespace expc::workload
