// Profile trials, whatever they train: time by phases, by kinds of work on the device, and a breakdown that a report
// uses to explain why one level is faster than another. The measured quantities and their sources are in
// docs/layers/worker.md.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/clock.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/profile/activity.h"
#include "runtime/worker/profile/breakdown.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload {
namespace {

using profile::Over;
using profile::Phase;

/// One rank's measurements.
struct Profile {
  double wall = 0;
  profile::PhaseTimes phases;
  profile::Findings findings;

  const profile::PhaseTime& phase(Phase phase) const { return phases[size_t(phase)]; }
};

/// Runs the profiled steps from a barrier on idle devices to an idle device. The probe is prepared before the barrier,
/// so that its preparation is not measured.
Expected<Profile> profileSteps(TrialContext& context, Training& training, int64_t steps) {
  Profile profile;
  const auto clock = context.device.phaseClock();
  const auto probe = context.device.probe();
  probe->prepare();
  context.device.synchronize();
  context.communicator.barrier();
  const profile::Measuring measuring(*clock);
  probe->start();
  const auto begin = base::Clock::now();
  TRY(runSteps(context, training, steps, "steps", false));
  context.device.synchronize();
  profile.wall = base::secondsSince(begin);
  profile.findings = probe->stop(profile.wall);
  profile.phases = clock->take();
  return profile;
}

/// The steps' time by categories: the probe's views, and two of our own, phases and what ran beside them.
profile::Amounts breakdownOf(const Profile& profile, int64_t steps) {
  profile::Amounts breakdown = profile.findings.breakdown;
  profile::Amounts phases, beside;
  for (const Phase phase : {Phase::Load, Phase::Copy, Phase::Forward, Phase::Backward, Phase::Optimizer}) {
    const profile::PhaseTime& time = profile.phase(phase);
    if (time.count) phases[std::string(toString(phase))] = {time.seconds, double(time.count), 0};
  }
  profile::Amount all_reduce = profile.findings.all_reduce.value_or(profile::Amount{});
  // dp adds up its replicas' gradients within backward, in the training thread; count that as an all-reduce.
  const profile::PhaseTime& between = profile.phase(Phase::AllReduce);
  all_reduce += {between.seconds, double(between.count), 0};
  if (all_reduce.count > 0) beside["all_reduce"] = all_reduce;
  profile::addView(breakdown, "step", phases);
  profile::addView(breakdown, "beside", beside);
  breakdown["total"] = {profile.wall, double(steps), 0};
  return breakdown;
}

/// The seconds of a phase; nothing for a phase that never came, such as a copy on the CPU: that is "not measured
/// here", not zero.
std::optional<double> secondsOf(const profile::PhaseTime& time) {
  if (time.count == 0) return std::nullopt;
  return time.seconds;
}

/// The metrics of profile trials. Called with an empty Profile it gives their names (profileMetrics).
std::vector<profile::Measure> measuredIn(const Profile& profile) {
  using profile::Direction;
  using profile::Family;
  const auto phase = [&](Phase one) { return secondsOf(profile.phase(one)); };
  std::optional<double> all_reduce = phase(Phase::AllReduce);
  if (const auto& observed = profile.findings.all_reduce; observed && observed->count > 0)
    all_reduce = all_reduce.value_or(0) + observed->seconds;

  const profile::ActivityTotals device = profile.findings.device.value_or(profile::ActivityTotals());
  // Without a probe's findings a value is absent, never zero.
  const auto seen = [&](double value) { return profile.findings.device ? std::optional(value) : std::nullopt; };
  const auto calls = [&](const char* call) { return device.callsThatBegin(call); };
  const auto copies = [&](Direction direction) { return device.copies[size_t(direction)]; };
  const auto family = [&](Family one) { return seen(device.families[size_t(one)].seconds); };
  return {{"profiled_time", profile.wall},
          {"load_time", phase(Phase::Load)},
          {"copy_time", phase(Phase::Copy)},
          {"forward_time", phase(Phase::Forward)},
          {"backward_time", phase(Phase::Backward)},
          {"all_reduce_time", all_reduce},
          {"optimizer_time", phase(Phase::Optimizer)},
          {"api_time", seen(calls("").seconds)},
          {"launch_time", seen(calls("cudaLaunchKernel").seconds)},
          {"launch_count", seen(calls("cudaLaunchKernel").count), Over::Sum},
          {"stream_synchronize_time", seen(calls("cudaStreamSynchronize").seconds)},
          {"event_synchronize_time", seen(calls("cudaEventSynchronize").seconds)},
          {"event_destroy_time", seen(calls("cudaEventDestroy").seconds)},
          {"memcpy_async_time", seen(calls("cudaMemcpyAsync").seconds)},
          {"memcpy_htod_time", seen(copies(Direction::HostToDevice).seconds)},
          {"memcpy_dtoh_time", seen(copies(Direction::DeviceToHost).seconds)},
          {"memcpy_dtod_time", seen(copies(Direction::DeviceToDevice).seconds)},
          {"bytes_htod", seen(copies(Direction::HostToDevice).bytes), Over::Sum},
          {"copies_htod", seen(copies(Direction::HostToDevice).count), Over::Sum},
          {"bytes_dtoh", seen(copies(Direction::DeviceToHost).bytes), Over::Sum},
          {"bytes_dtod", seen(copies(Direction::DeviceToDevice).bytes), Over::Sum},
          {"kernel_time", family(Family::Compute)},
          {"nccl_time", seen(device.nccl().seconds)},
          {"nccl_all_reduce_time", family(Family::AllReduce)},
          {"nccl_all_gather_time", family(Family::AllGather)},
          {"nccl_reduce_scatter_time", family(Family::ReduceScatter)},
          {"nccl_broadcast_time", family(Family::Broadcast)},
          {"gpu_busy_share", seen(std::min(1.0, device.busy_seconds / profile.wall)), Over::Mean}};
}

/// Traces some more steps, after everything was measured, because tracing slows them down. A trace that cannot be
/// written is a note: it is no reason to lose what was measured.
Error traceSteps(TrialContext& context, Training& training, std::vector<std::string>& notes) {
  const char* file = std::getenv("EXPC_TRACE");
  if (!file || !*file) return Error::success();
  context.communicator.barrier();
  profile::startTrace(context.device.torchDevice().is_cuda());
  auto error = runSteps(context, training, kTracedSteps, "trace", false);
  context.device.synchronize();
  const std::string path = std::string(file) + ".rank" + std::to_string(context.communicator.rank()) + ".json";
  auto unwritten = profile::finishTrace(path);
  // A failed step matters more than the trace of it.
  if (error) {
    consumeError(std::move(unwritten));
    return error;
  }
  if (unwritten) notes.push_back(toString(std::move(unwritten)));
  return Error::success();
}

}  // namespace

std::vector<profile::Measure> profileMetrics() { return measuredIn(Profile()); }

Expected<protocol::Event> profileTrial(TrialContext& context, Training& training, const Settings& settings) {
  protocol::Event result{.type = protocol::Event::Type::Result};
  // Remarks about the training come before those about measuring it. Facts are the same on all ranks.
  std::vector<std::string> notes;
  for (const plan::Note& note : training.notes())
    if (note.code == plan::Note::Said)
      notes.push_back(note.said);
    else
      result.notes.push_back(note);
  TRY(runSteps(context, training, settings.warmup, "warmup", false));
  auto profile = TRY(profileSteps(context, training, settings.steps));
  profile::reduce(context.communicator, measuredIn(profile), result.metrics);
  llvm::append_range(notes, profile.findings.notes);
  TRY(traceSteps(context, training, notes));
  profile::Amounts breakdown = breakdownOf(profile, settings.steps);
  // The breakdown becomes the means over all ranks, and the notes become those of all.
  profile::gather(context.communicator, breakdown, notes);
  profile::addSeries(result.series, breakdown);
  llvm::append_range(result.notes, notes);
  auto losses = TRY(training.takeLosses());
  result.series["loss"] = json::Array(losses);
  return result;
}

}  // namespace expc::workload
