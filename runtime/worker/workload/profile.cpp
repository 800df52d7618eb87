// Profile trials, whatever they train.

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/worker/profile/activity.h"
#include "runtime/worker/profile/breakdown.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload {
namespace {

using Clock = std::chrono::steady_clock;
using profile::Over;
using profile::Phase;

/// What a rank measured.
struct Profile {
  double wall = 0;
  profile::PhaseTimes phases;
  profile::Findings findings;

  const profile::PhaseTime& phase(Phase phase) const { return phases[static_cast<size_t>(phase)]; }
};

llvm::Expected<Profile> profileSteps(TrialContext& context, Training& training, int64_t steps) {
  Profile profile;
  const auto clock = context.device.phaseClock();
  const auto probe = context.device.probe();
  probe->prepare();
  context.device.synchronize();
  context.communicator.barrier();
  const profile::Measuring measuring(*clock);
  probe->start();
  const Clock::time_point begin = Clock::now();
  if (auto error = runSteps(context, training, steps, "steps", false)) return error;
  context.device.synchronize();
  profile.wall = std::chrono::duration<double>(Clock::now() - begin).count();
  profile.findings = probe->stop(profile.wall);
  profile.phases = clock->take();
  return profile;
}

/// Categories of the steps' time, for a reader who asks why one level is faster than another.
profile::Amounts breakdownOf(const Profile& profile, int64_t steps) {
  profile::Amounts breakdown = profile.findings.breakdown;
  profile::Amounts phases, beside;
  for (const Phase phase : {Phase::Load, Phase::Copy, Phase::Forward, Phase::Backward, Phase::Optimizer}) {
    const profile::PhaseTime& time = profile.phase(phase);
    if (time.count) phases[std::string(toString(phase))] = {time.seconds, static_cast<double>(time.count), 0};
  }
  profile::Amount all_reduce = profile.findings.all_reduce.value_or(profile::Amount{});
  // Between the replicas of dp: within backward, in the training thread.
  const profile::PhaseTime& between = profile.phase(Phase::AllReduce);
  all_reduce += {between.seconds, static_cast<double>(between.count), 0};
  if (all_reduce.count > 0) beside["all_reduce"] = all_reduce;
  profile::addView(breakdown, "step", phases);
  profile::addView(breakdown, "beside", beside);
  breakdown["total"] = {profile.wall, static_cast<double>(steps), 0};
  return breakdown;
}

/// A phase that never came is nothing of this device: a copy on the CPU, say.
std::optional<double> secondsOf(const profile::PhaseTime& time) {
  if (time.count == 0) return std::nullopt;
  return time.seconds;
}

std::vector<profile::Measure> measuredIn(const Profile& profile) {
  using profile::Direction;
  using profile::Family;
  std::vector<profile::Measure> all;
  const auto seconds = [&](const char* name, std::optional<double> value) { all.push_back({name, value}); };
  seconds("profiled_time", profile.wall);
  seconds("load_time", secondsOf(profile.phase(Phase::Load)));
  seconds("copy_time", secondsOf(profile.phase(Phase::Copy)));
  seconds("forward_time", secondsOf(profile.phase(Phase::Forward)));
  seconds("backward_time", secondsOf(profile.phase(Phase::Backward)));
  std::optional<double> all_reduce = secondsOf(profile.phase(Phase::AllReduce));
  if (const auto& observed = profile.findings.all_reduce; observed && observed->count > 0)
    all_reduce = all_reduce.value_or(0) + observed->seconds;
  seconds("all_reduce_time", all_reduce);
  seconds("optimizer_time", secondsOf(profile.phase(Phase::Optimizer)));

  const bool seen = profile.findings.device.has_value();
  const profile::ActivityTotals device = profile.findings.device.value_or(profile::ActivityTotals());
  const auto of_device = [&](const char* name, double value, Over over = Over::Max) {
    all.push_back({name, seen ? std::optional(value) : std::nullopt, over});
  };
  const auto calls = [&](const char* call) { return device.callsThatBegin(call); };
  of_device("api_time", device.allCalls().seconds);
  of_device("launch_time", calls("cudaLaunchKernel").seconds);
  of_device("launch_count", calls("cudaLaunchKernel").count, Over::Sum);
  of_device("stream_synchronize_time", calls("cudaStreamSynchronize").seconds);
  of_device("event_synchronize_time", calls("cudaEventSynchronize").seconds);
  of_device("event_destroy_time", calls("cudaEventDestroy").seconds);
  of_device("memcpy_async_time", calls("cudaMemcpyAsync").seconds);
  const auto copies = [&](Direction direction) { return device.copies[static_cast<size_t>(direction)]; };
  of_device("memcpy_htod_time", copies(Direction::HostToDevice).seconds);
  of_device("memcpy_dtoh_time", copies(Direction::DeviceToHost).seconds);
  of_device("memcpy_dtod_time", copies(Direction::DeviceToDevice).seconds);
  of_device("bytes_htod", copies(Direction::HostToDevice).bytes, Over::Sum);
  of_device("copies_htod", copies(Direction::HostToDevice).count, Over::Sum);
  of_device("bytes_dtoh", copies(Direction::DeviceToHost).bytes, Over::Sum);
  of_device("bytes_dtod", copies(Direction::DeviceToDevice).bytes, Over::Sum);
  const auto family = [&](Family one) { return device.families[static_cast<size_t>(one)].seconds; };
  of_device("kernel_time", family(Family::Compute));
  of_device("nccl_time", device.nccl().seconds);
  of_device("nccl_all_reduce_time", family(Family::AllReduce));
  of_device("nccl_all_gather_time", family(Family::AllGather));
  of_device("nccl_reduce_scatter_time", family(Family::ReduceScatter));
  of_device("nccl_broadcast_time", family(Family::Broadcast));
  of_device("gpu_busy_share", std::min(1.0, device.busy_seconds / profile.wall), Over::Mean);
  return all;
}

/// After everything was measured: a trace slows its steps down. A trace that cannot be written is a note, and no reason
/// to lose what was measured.
llvm::Error traceSteps(TrialContext& context, Training& training, std::vector<std::string>& notes) {
  const char* file = std::getenv("EXPC_TRACE");
  if (!file || !*file) return llvm::Error::success();
  context.communicator.barrier();
  profile::startTrace(context.device.torchDevice().is_cuda());
  auto error = runSteps(context, training, kTracedSteps, "trace", false);
  context.device.synchronize();
  const std::string path = std::string(file) + ".rank" + std::to_string(context.communicator.rank()) + ".json";
  auto unwritten = profile::finishTrace(path);
  if (error) {
    llvm::consumeError(std::move(unwritten));
    return error;
  }
  if (unwritten) notes.push_back(llvm::toString(std::move(unwritten)));
  return llvm::Error::success();
}

}  // namespace

std::vector<profile::Measure> profileMetrics() { return measuredIn(Profile()); }

llvm::Expected<plan::Event> profileTrial(TrialContext& context, Training& training, const Settings& settings) {
  std::vector<std::string> notes = training.notes();
  if (auto error = runSteps(context, training, settings.warmup, "warmup", false)) return error;
  auto profile = profileSteps(context, training, settings.steps);
  if (!profile) return profile.takeError();
  plan::Event result{.type = plan::Event::Type::Result};
  profile::reduce(context.communicator, measuredIn(*profile), result.metrics);
  notes.insert(notes.end(), profile->findings.notes.begin(), profile->findings.notes.end());
  if (auto error = traceSteps(context, training, notes)) return error;
  profile::Amounts breakdown = breakdownOf(*profile, settings.steps);
  profile::gather(context.communicator, breakdown, notes);
  profile::addSeries(result.series, breakdown);
  result.notes = std::move(notes);
  auto losses = training.takeLosses();
  if (!losses) return losses.takeError();
  result.series["loss"] = llvm::json::Array(*losses);
  return result;
}

}  // namespace expc::workload
