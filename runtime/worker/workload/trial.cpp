// The trial boundary: what happens around a workload in one rank. The wall behind which torch's exceptions stay.

#include "runtime/plan/trial.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/env.h>
#include <unistd.h>

#include <chrono>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/comm/failure.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/training.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload {
namespace {

const Workload* find(const Capabilities& capabilities, const plan::TrialSpec& spec, std::string& why) {
  for (const Workload& workload : capabilities.workloads) {
    if (workload.name != spec.workload) continue;
    if (workload.version == spec.workload_version) return &workload;
    why = spec.workload + " has version " + std::to_string(workload.version) +
          " in this worker, the plan asks for version " + std::to_string(spec.workload_version) +
          ": plan the study again with the expc of this build";
    return nullptr;
  }
  why = "this worker has no workload " + spec.workload + " (expc-worker --describe lists them)";
  return nullptr;
}

/// Before anything is run: whether this kind of trial gives what was asked for.
llvm::Error checkAsked(const plan::TrialSpec& spec, const Workload& workload) {
  if (spec.rehearsal) return checkRehearsal(spec);
  for (const std::string& name : spec.metrics) {
    const auto measured = [&](const Metric& metric) { return metric.name == name && metric.kind == spec.kind; };
    if (llvm::none_of(workload.metrics, measured))
      return llvm::createStringError("metric " + name + " is not measured by " +
                                     std::string(plan::toString(spec.kind)) + " trials of " + spec.workload);
  }
  return llvm::Error::success();
}

/// Keeps what was asked for, in any order; series stay beside the metrics.
llvm::Error keepAsked(const plan::TrialSpec& spec, plan::Event& event) {
  if (spec.metrics.empty()) return llvm::Error::success();
  llvm::json::Object kept;
  for (const std::string& name : spec.metrics) {
    const llvm::json::Value* value = event.metrics.get(name);
    if (!value && event.series.get(name)) continue;
    if (!value) return llvm::createStringError(spec.workload + " did not give its metric " + name);
    kept[name] = *value;
  }
  event.metrics = std::move(kept);
  return llvm::Error::success();
}

/// From here on this process uses only algorithms that give the same bits each time, on every device: cuDNN's and
/// cuBLAS's deterministic ones, none that is chosen by trying, and an error from an operator that has none. Before any
/// tensor is on a GPU. On the CPU torch's operators and ours are deterministic for a given number of threads anyway.
void useDeterministicAlgorithms() {
  // cuBLAS sums in the same order each time only with a workspace of its own for each handle; torch reads this at the
  // first one and refuses to multiply without it.
  if (!c10::utils::has_env("CUBLAS_WORKSPACE_CONFIG"))
    c10::utils::set_env("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/false);
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  // A debugging aid that costs time: nothing here reads memory that it has not written.
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
}

// Large enough to fill a GPU, small enough for one whose memory is mostly taken: 3 x 32 MiB.
constexpr int64_t kHeatSize = 4096;
constexpr int64_t kHeatSizeOnCpu = 512;
// Products that are queued before the host waits: the queue never runs dry, and the end is never far.
constexpr int kHeatQueued = 16;

/// Keeps `device` busy with products of random matrices for the setting "seconds" of `spec` (runtime/plan/trial.h).
/// The error says what is wrong with the setting; torch's exceptions leave it.
llvm::Error heatUp(device::Device& device, const plan::TrialSpec& spec) {
  const std::optional<double> seconds = spec.settings.getNumber("seconds");
  if (!seconds || *seconds < 0) return llvm::createStringError("a heat-up needs its seconds");
  at::NoGradGuard no_grad;
  const c10::Device place = device.torchDevice();
  const int64_t size = place.is_cpu() ? kHeatSizeOnCpu : kHeatSize;
  const auto options = at::TensorOptions(at::kBFloat16).device(place);
  // Random ones: constant operands flip few bits, which takes less power and leaves the clocks higher.
  const at::Tensor a = at::randn({size, size}, options), b = at::randn({size, size}, options);
  at::Tensor c = at::empty({size, size}, options);
  device.synchronize();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(*seconds);
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < kHeatQueued; ++i) at::mm_out(c, a, b);
    device.synchronize();
  }
  return llvm::Error::success();
}

/// One rank between its first and its last event.
struct Rank {
  const Capabilities& capabilities;
  const plan::TrialSpec& spec;
  serve::EventWriter writer;
  std::chrono::steady_clock::time_point process_start;
  std::string place = "";  // "rank 1 of 2"
  std::unique_ptr<device::Device> device = nullptr;
  std::unique_ptr<comm::Communicator> communicator = nullptr;
  std::unique_ptr<Progress> progress = nullptr;
  std::unique_ptr<TrialContext> context = nullptr;  // it and what it keeps go first

  std::string named(const std::string& text) const { return place.empty() ? text : place + ": " + text; }
  llvm::ArrayRef<llvm::json::Value> all() const { return {spec.slots.data(), spec.slots.size()}; }

  /// What the device itself says where it takes no work any more; "" where it does. Libraries on it, and NCCL, know
  /// only that they failed. Does not wait.
  std::string deviceFailure() const {
    if (!device) return "";
    try {
      device->mark();
      return "";
    } catch (const std::exception& error) {
      return comm::firstLineOf(error);
    }
  }

  /// Why the trial did not end well, to the engine.
  void report(const std::exception& error) {
    const std::string words = comm::firstLineOf(error);
    comm::Failure failure = comm::failureOf(error);
    std::string reason = words;
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
        writer.infeasible(named("the host is out of memory: " + words));
        break;
      case comm::Failure::OtherRanks:
        // What the reducer throws in a backward pass does not say what it is about.
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

  llvm::Error open(llvm::ArrayRef<llvm::json::Value> slots) {
    return device::openDevice(capabilities.backends, slots).moveInto(device);
  }

  void connect(const comm::Rendezvous& rendezvous) {
    communicator = comm::Communicator::open(rendezvous, [this](const std::string& message) {
      writer.lostOthers(message);
      _exit(1);
    });
    device->join(*communicator);
  }

  llvm::Error run() {
    auto rendezvous = comm::rendezvousFromEnvironment();
    if (!rendezvous) return rendezvous.takeError();
    const bool one_process = spec.world_size == 1 && !spec.slots.empty();  // it may drive several devices
    if (rendezvous->world_size != spec.world_size || (!one_process && spec.slots.size() != spec.world_size)) {
      return llvm::createStringError("the trial is for " + llvm::Twine(spec.world_size) + " ranks on " +
                                     llvm::Twine(spec.slots.size()) + " slots, WORLD_SIZE says " +
                                     llvm::Twine(rendezvous->world_size));
    }
    place = "rank " + std::to_string(rendezvous->rank) + " of " + std::to_string(spec.world_size);
    writer.namesRank();
    if (spec.workload == plan::kHeatUp) return heat(rendezvous->rank);
    std::string why;
    const Workload* workload = find(capabilities, spec, why);
    if (!workload) return llvm::createStringError(why);
    if (auto error = checkAsked(spec, *workload)) return error;
    if (workload->deterministic && workload->deterministic(spec.parameters)) useDeterministicAlgorithms();
    const auto slots = one_process ? all() : all().slice(rendezvous->rank, 1);
    if (auto error = open(slots)) return error;
    connect(*rendezvous);

    progress = std::make_unique<Progress>(writer, rendezvous->rank == 0);
    context =
        std::make_unique<TrialContext>(TrialContext{spec, *communicator, *device, slots, *progress, process_start});
    auto result = workload->run(*context);
    if (!result) return result.takeError();
    context.reset();
    device->synchronize();
    communicator->shutdown();
    if (rendezvous->rank != 0) return llvm::Error::success();
    return deliver(*result);
  }

  /// No trial: each rank by itself keeps its device busy.
  llvm::Error heat(unsigned rank) {
    if (auto error = open(all().slice(rank, 1))) return error;
    if (auto error = heatUp(*device, spec)) return error;
    if (rank == 0) writer.write({.type = plan::Event::Type::Result});
    return llvm::Error::success();
  }

  llvm::Error deliver(plan::Event& result) {
    if (auto error = keepAsked(spec, result)) return error;
    device->describe(result.environment);
    device::describeAllocator(result.environment);
    serve::describePlace(result.environment);
    result.environment["ranks"] = spec.world_size;
    result.environment["seed"] = spec.seed;
    if (!writer.write(result)) return llvm::createStringError("the engine does not read the result any more");
    return llvm::Error::success();
  }
};

}  // namespace

int runRank(const Capabilities& capabilities, const plan::TrialSpec& spec, int event_fd,
            std::chrono::steady_clock::time_point process_start) {
  // Of a trial that fails nothing is destroyed: what is broken can wait for ever.
  Rank& rank = *new Rank{capabilities, spec, serve::EventWriter(event_fd), process_start};
  rank.writer.started();
  try {
    llvm::Error error = rank.run();
    if (!error) {
      delete &rank;
      return 0;
    }
    rank.writer.failed(rank.named(llvm::toString(std::move(error))));
  } catch (const TooLarge& error) {
    rank.writer.infeasible(rank.named(error.what()));
  } catch (const std::exception& error) {
    rank.report(error);
  }
  return 1;
}

}  // namespace expc::workload
