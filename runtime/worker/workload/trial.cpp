#include "runtime/worker/workload/trial.h"

#include <c10/util/Exception.h>

#include <new>

#include "runtime/worker/comm/rendezvous.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/serve/memory_policy.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/too_large.h"

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
  for (const std::string& name : spec.metrics) {
    const Metric* found = nullptr;
    for (const Metric& metric : workload.metrics) {
      if (metric.name == name && metric.kind == spec.kind) found = &metric;
    }
    if (!found) {
      return llvm::createStringError("metric " + name + " is not measured by " +
                                     std::string(plan::toString(spec.kind)) + " trials of " + spec.workload);
    }
    if (!found->built) return llvm::createStringError("not in this build: metric " + name + " of " + spec.workload);
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

/// Torch reports memory of the host that is short as a plain error.
bool isOutOfMemory(const char* what) {
  return std::string_view(what).find("DefaultCPUAllocator: can't allocate memory") != std::string_view::npos ||
         std::string_view(what).find("DefaultCPUAllocator: not enough memory") != std::string_view::npos;
}

/// The reducer talks to the other ranks inside the backward pass; what it throws there has no type of its own.
bool isFromOtherRanks(const char* what) {
  const std::string_view text(what);
  for (std::string_view sign : {"gloo", "NCCL", "Connection closed by peer", "Connection reset by peer"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

std::string firstLineOf(const char* what) {
  std::string_view text(what);
  return std::string(text.substr(0, text.find('\n')));
}

/// One rank between its first and its last event.
struct Rank {
  const Capabilities& capabilities;
  const plan::TrialSpec& spec;
  serve::EventWriter& writer;
  std::chrono::steady_clock::time_point process_start;
  std::string place;  // "rank 1 of 2"
  std::unique_ptr<comm::Communicator> communicator;

  void fail(const char* what) const {
    if (isFromOtherRanks(what)) {
      writer.lostOthers(place + " lost the others in a backward pass: " + firstLineOf(what) +
                        " (another rank died, hangs or cannot be reached; its log says more)");
    } else {
      writer.failed(place.empty() ? firstLineOf(what) : place + ": " + firstLineOf(what));
    }
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
    std::string why;
    const Workload* workload = find(capabilities, spec, why);
    if (!workload) return llvm::createStringError(why);
    if (auto error = checkAsked(spec, *workload)) return error;
    auto device = device::openDevice(capabilities.backends, spec.slots[rendezvous->rank]);
    if (!device) return device.takeError();
    communicator = comm::Communicator::open(*rendezvous);
    (*device)->join(*communicator);

    Progress progress(writer, rendezvous->rank == 0);
    const llvm::ArrayRef<llvm::json::Value> slots(spec.slots.data(), spec.slots.size());
    TrialContext context{spec,     *communicator, **device, one_process ? slots : slots.slice(rendezvous->rank, 1),
                         progress, process_start};
    auto result = workload->run(context);
    if (!result) return result.takeError();
    (*device)->synchronize();
    communicator->shutdown();
    if (rendezvous->rank != 0) return llvm::Error::success();
    if (auto error = keepAsked(spec, *result)) return error;
    (*device)->describe(result->environment);
    device::describeAllocator(result->environment);
    serve::describePlace(result->environment);
    result->environment["ranks"] = spec.world_size;
    result->environment["seed"] = spec.seed;
    if (!writer.write(*result)) return llvm::createStringError("the engine does not read the result any more");
    return llvm::Error::success();
  }
};

}  // namespace

int runRank(const Capabilities& capabilities, const plan::TrialSpec& spec, int event_fd,
            std::chrono::steady_clock::time_point process_start) {
  serve::EventWriter writer(event_fd);
  writer.started();
  Rank rank{capabilities, spec, writer, process_start, "", nullptr};
  const auto named = [&](const std::string& text) { return rank.place.empty() ? text : rank.place + ": " + text; };
  try {
    llvm::Error error = rank.run();
    if (!error) return 0;
    writer.failed(named(llvm::toString(std::move(error))));
  } catch (const TooLarge& error) {
    writer.infeasible(named(error.what()));
  } catch (const c10::OutOfMemoryError& error) {
    writer.infeasible(named("the device is out of memory: " + firstLineOf(error.what_without_backtrace())));
  } catch (const std::bad_alloc&) {
    writer.infeasible(named("the host is out of memory"));
  } catch (const comm::CommError& error) {
    writer.lostOthers(error.what());
  } catch (const c10::Error& error) {
    if (isOutOfMemory(error.what_without_backtrace())) {
      writer.infeasible(named("the host is out of memory: " + firstLineOf(error.what_without_backtrace())));
    } else {
      rank.fail(error.what_without_backtrace());
    }
  } catch (const std::exception& error) {
    rank.fail(error.what());
  }
  // Taking down a group whose other end is gone can wait for ever.
  rank.communicator.release();
  return 1;
}

}  // namespace expc::workload
