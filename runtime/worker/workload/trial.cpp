// The trial boundary: everything around a workload in one rank, and the wall that torch's exceptions do not pass.
// Memory that runs out becomes "infeasible", another rank's death "lost the others", everything else "failed" with
// the rank's name.
//
// A rank that fails must say so and leave without waiting. Therefore nothing is destroyed after a failure (Rank is
// leaked), and the exit code alone tells the caller to use _exit().

#include "runtime/protocol/trial.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/env.h>
#include <unistd.h>

#include <chrono>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/find.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/comm/failure.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/training.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload {
namespace {

/// The workload that the specification names, in its version.
Expected<const Workload*> find(const Capabilities& capabilities, const protocol::TrialSpec& spec) {
  const Workload* workload = base::named(capabilities.workloads, spec.workload);
  if (!workload) return failure("this worker has no workload {} (expc-worker --describe lists them)", spec.workload);
  // A workload of another version may give other results under the same name, so it is refused.
  if (workload->version != spec.workload_version)
    return failure(
        "{} has version {} in this worker, but the plan needs version {}: plan the study again with the expc of this "
        "build",
        spec.workload, workload->version, spec.workload_version);
  return workload;
}

/// An error if trials of this kind do not measure all metrics that are asked for. Checked before anything runs.
Error checkAsked(const protocol::TrialSpec& spec, const Workload& workload) {
  if (spec.rehearsal) return checkRehearsal(spec);
  for (const std::string& name : spec.metrics) {
    const auto measured = [&](const Metric& metric) { return metric.name == name && metric.kind == spec.kind; };
    if (llvm::none_of(workload.metrics, measured))
      return failure("metric {} is not measured by {} trials of {}", name, plan::toString(spec.kind), spec.workload);
  }
  return Error::success();
}

/// Drops metrics that nobody asked for; with no names given all stay. Series are not metrics and stay too. A missing
/// metric is a fault of the workload.
Error keepAsked(const protocol::TrialSpec& spec, protocol::Event& event) {
  if (spec.metrics.empty()) return Error::success();
  json::Object kept;
  for (const std::string& name : spec.metrics) {
    const json::Value* value = event.metrics.get(name);
    if (!value && event.series.get(name)) continue;
    if (!value) return failure("{} did not return its metric {}", spec.workload, name);
    kept[name] = *value;
  }
  event.metrics = std::move(kept);
  return Error::success();
}

/// Restricts this process to algorithms that give the same bits each time, on every device: cuDNN's and cuBLAS's
/// deterministic ones, none that is chosen by timing, and an error from an operator that has none. Must run before
/// any tensor is on a GPU. On the CPU torch's operators and ours are deterministic for a given number of threads
/// anyway.
void useDeterministicAlgorithms() {
  // cuBLAS sums in a fixed order only if each handle has a workspace of its own. torch reads this variable at the
  // first handle, and refuses to multiply without it.
  if (!c10::utils::has_env("CUBLAS_WORKSPACE_CONFIG"))
    c10::utils::set_env("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/false);
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  // Filling new tensors is a debugging aid that costs time; nothing here reads memory that it has not written.
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
}

// Large enough to fill a GPU, small enough for one whose memory is mostly taken: three matrices of 32 MiB.
constexpr int64_t kHeatSize = 4096;
constexpr int64_t kHeatSizeOnCpu = 512;
// Products that are queued before the host waits: enough that the queue never runs dry, few enough to end on time.
constexpr int kHeatQueued = 16;

/// Keeps `device` busy with products of random matrices for `spec`'s setting "seconds" (runtime/protocol/trial.h). An
/// error says what is wrong with the setting; torch's exceptions leave it.
Error heatUp(device::Device& device, const protocol::TrialSpec& spec) {
  const std::optional<double> seconds = spec.settings.getNumber("seconds");
  if (!seconds || *seconds < 0) return failure("a heat-up needs its seconds");
  at::NoGradGuard no_grad;
  const c10::Device place = device.torchDevice();
  const int64_t size = place.is_cpu() ? kHeatSizeOnCpu : kHeatSize;
  const auto options = at::TensorOptions(at::kBFloat16).device(place);
  // Random operands: constant ones flip few bits, so they take less power and leave the clocks higher than training
  // does.
  const at::Tensor a = at::randn({size, size}, options), b = at::randn({size, size}, options);
  at::Tensor c = at::empty({size, size}, options);
  device.synchronize();
  const auto end = base::Clock::now() + std::chrono::duration<double>(*seconds);
  while (base::Clock::now() < end) {
    for (int i = 0; i < kHeatQueued; ++i) at::mm_out(c, a, b);
    device.synchronize();
  }
  return Error::success();
}

/// One rank between its first and its last event. Members are destroyed from the last to the first: the context, and
/// what it keeps, before the communicator and the device.
struct Rank {
  const Capabilities& capabilities;
  const protocol::TrialSpec& spec;
  serve::EventWriter writer;
  base::Clock::time_point process_start;
  std::string place = "";  // "rank 1 of 2"
  std::unique_ptr<device::Device> device = nullptr;
  std::unique_ptr<comm::Communicator> communicator = nullptr;
  std::unique_ptr<Progress> progress = nullptr;
  std::unique_ptr<TrialContext> context = nullptr;  // destroyed first, with all that it keeps

  std::string named(const std::string& text) const { return place.empty() ? text : place + ": " + text; }
  /// The slots of all ranks.
  ArrayRef<json::Value> all() const { return {spec.slots.data(), spec.slots.size()}; }

  /// The device's own words if it does not take work any more, else "". Libraries on top of it, and NCCL, only know
  /// that they failed. Does not wait.
  std::string deviceFailure() const {
    if (!device) return "";
    try {
      device->mark();
      return "";
    } catch (const std::exception& error) {
      return comm::firstLineOf(error);
    }
  }

  /// Tells the engine why the trial did not end well.
  void report(const std::exception& error) {
    const std::string words = comm::firstLineOf(error);
    comm::Failure failure = comm::failureOf(error);
    std::string reason = words;
    // A broken device is often met first as a failed collective or product: ask the device itself.
    if (failure == comm::Failure::OtherRanks || failure == comm::Failure::Other) {
      if (const std::string why = deviceFailure(); !why.empty()) {
        failure = comm::Failure::Device;
        reason = why + " (met as: " + words + ")";
      }
    }
    switch (failure) {
      case comm::Failure::DeviceMemory:
        writer.infeasible(named("the device is out of memory: " + words));
        break;
      case comm::Failure::HostMemory:
        writer.infeasible(named("the host is out of memory: " + words), /*host_memory=*/true);
        break;
      case comm::Failure::OtherRanks:
        // The reducer's exception in a backward pass does not say what it is about, so say it here.
        writer.lostOthers(dynamic_cast<const comm::CommError*>(&error)
                              ? words
                              : place + " lost the others in a backward pass: " + words +
                                    " (another rank died, hangs or cannot be reached; its log says more)");
        break;
      case comm::Failure::Device:
      case comm::Failure::Other:
        writer.failed(named(reason));
        break;
    }
  }

  Error open(ArrayRef<json::Value> slots) { return device::openDevice(capabilities.backends, slots).moveInto(device); }

  /// Meets the other ranks. If one is lost while this rank waits in a collective, no exception can reach us: the
  /// communicator's watcher calls back, from its own thread, and the process leaves at once.
  void connect(const comm::Rendezvous& rendezvous) {
    communicator = comm::Communicator::open(rendezvous, [this](const std::string& message) {
      writer.lostOthers(message);
      _exit(1);
    });
    device->join(*communicator);
  }

  /// The trial, step by step. The order matters: settings that libraries read once come before the device, the device
  /// before the communicator, and the context is destroyed before the group is taken down.
  Error run() {
    auto rendezvous = TRY(comm::rendezvousFromEnvironment());
    const bool one_process = spec.world_size == 1 && !spec.slots.empty();  // that process may drive several devices
    if (rendezvous.world_size != spec.world_size || (!one_process && spec.slots.size() != spec.world_size)) {
      return failure("the trial is for {} ranks on {} devices, but WORLD_SIZE is {}", spec.world_size,
                     spec.slots.size(), rendezvous.world_size);
    }
    place = "rank " + std::to_string(rendezvous.rank) + " of " + std::to_string(spec.world_size);
    writer.namesRank();
    if (spec.workload == protocol::kHeatUp) return heat(rendezvous.rank);
    const Workload* workload = TRY(find(capabilities, spec));
    TRY(checkAsked(spec, *workload));
    if (workload->deterministic && workload->deterministic(spec.parameters)) useDeterministicAlgorithms();
    const auto slots = one_process ? all() : all().slice(rendezvous.rank, 1);
    TRY(open(slots));
    connect(rendezvous);

    progress = std::make_unique<Progress>(writer, rendezvous.rank == 0);
    context =
        std::make_unique<TrialContext>(TrialContext{spec, *communicator, *device, slots, *progress, process_start});
    auto result = TRY(workload->run(*context));
    // Destroy the training while the group still lives: it may hold parts of it, such as a reducer.
    context.reset();
    device->synchronize();
    communicator->shutdown();
    if (rendezvous.rank != 0) return Error::success();
    return deliver(result);
  }

  /// A heat-up is no trial: each rank keeps its own device busy, without meeting the others.
  Error heat(unsigned rank) {
    TRY(open(all().slice(rank, 1)));
    TRY(heatUp(*device, spec));
    if (rank == 0) writer.write({.type = protocol::Event::Type::Result});
    return Error::success();
  }

  /// Completes the result with the environment and writes it.
  Error deliver(protocol::Event& result) {
    TRY(keepAsked(spec, result));
    device->describe(result.environment);
    device::describeAllocator(result.environment);
    // The places where the rank really ran; the study only asked for them.
    serve::describePlace(result.environment);
    result.environment["ranks"] = spec.world_size;
    result.environment["seed"] = spec.seed;
    if (!writer.write(result)) return failure("the engine no longer reads the result");
    return Error::success();
  }
};

}  // namespace

int runRank(const Capabilities& capabilities, const protocol::TrialSpec& spec, int event_fd,
            base::Clock::time_point process_start) {
  // Leaked if the trial fails: destroying what is broken can wait for ever.
  Rank& rank = *new Rank{capabilities, spec, serve::EventWriter(event_fd), process_start};
  rank.writer.started();
  try {
    Error error = rank.run();
    if (!error) {
      delete &rank;
      return 0;
    }
    rank.writer.failed(rank.named(toString(std::move(error))));
  } catch (const TooLarge& error) {
    rank.writer.infeasible(rank.named(error.what()));
  } catch (const std::exception& error) {
    rank.report(error);
  }
  return 1;
}

}  // namespace expc::workload
