// Profile trials, whatever they train.

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/worker/profile/breakdown.h"
#include "runtime/worker/profile/probe.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/profile/trace.h"
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
  using Totals = const profile::ActivityTotals&;
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

  const std::optional<profile::ActivityTotals>& device = profile.findings.device;
  const auto ofDevice = [&](auto value) { return device ? std::optional<double>(value(*device)) : std::nullopt; };
  const auto count = [&](const char* name, auto value) { all.push_back({name, ofDevice(value), Over::Sum}); };
  const auto calls = [&](const char* name, const char* call) {
    seconds(name, ofDevice([&](Totals totals) { return totals.callsThatBegin(call).seconds; }));
  };
  seconds("api_time", ofDevice([](Totals totals) { return totals.allCalls().seconds; }));
  calls("launch_time", "cudaLaunchKernel");
  count("launch_count", [](Totals totals) { return totals.callsThatBegin("cudaLaunchKernel").count; });
  calls("stream_synchronize_time", "cudaStreamSynchronize");
  calls("event_synchronize_time", "cudaEventSynchronize");
  calls("event_destroy_time", "cudaEventDestroy");
  calls("memcpy_async_time", "cudaMemcpyAsync");
  const auto copies = [](Direction direction) {
    return [direction](Totals totals) { return totals.copies[static_cast<size_t>(direction)]; };
  };
  const auto to_device = copies(Direction::HostToDevice), from_device = copies(Direction::DeviceToHost),
             within_device = copies(Direction::DeviceToDevice);
  seconds("memcpy_htod_time", ofDevice([&](Totals totals) { return to_device(totals).seconds; }));
  seconds("memcpy_dtoh_time", ofDevice([&](Totals totals) { return from_device(totals).seconds; }));
  seconds("memcpy_dtod_time", ofDevice([&](Totals totals) { return within_device(totals).seconds; }));
  count("bytes_htod", [&](Totals totals) { return to_device(totals).bytes; });
  count("copies_htod", [&](Totals totals) { return to_device(totals).count; });
  count("bytes_dtoh", [&](Totals totals) { return from_device(totals).bytes; });
  count("bytes_dtod", [&](Totals totals) { return within_device(totals).bytes; });
  const auto family = [&](const char* name, Family one) {
    seconds(name, ofDevice([&](Totals totals) { return totals.families[static_cast<size_t>(one)].seconds; }));
  };
  family("kernel_time", Family::Compute);
  seconds("nccl_time", ofDevice([](Totals totals) { return totals.nccl().seconds; }));
  family("nccl_all_reduce_time", Family::AllReduce);
  family("nccl_all_gather_time", Family::AllGather);
  family("nccl_reduce_scatter_time", Family::ReduceScatter);
  family("nccl_broadcast_time", Family::Broadcast);
  all.push_back({"gpu_busy_share",
                 ofDevice([&](Totals totals) { return std::min(1.0, totals.busy_seconds / profile.wall); }),
                 Over::Mean});
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
  plan::Event result;
  result.type = plan::Event::Type::Result;
  profile::reduce(context.communicator, measuredIn(*profile), result.metrics);
  notes.insert(notes.end(), profile->findings.notes.begin(), profile->findings.notes.end());
  if (auto error = traceSteps(context, training, notes)) return error;
  const profile::Gathered gathered =
      profile::gather(context.communicator, breakdownOf(*profile, settings.steps), notes);
  profile::addSeries(result.series, gathered.breakdown);
  result.notes = gathered.notes;
  auto losses = training.takeLosses();
  if (!losses) return losses.takeError();
  result.series["loss"] = llvm::json::Array(*losses);
  return result;
}

}  // namespace expc::workload
