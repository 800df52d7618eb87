#pragma once

// The interface between the worker and its built-in workloads: a workload's name, its parameters and metrics, and the
// function that runs one rank of a trial. runRank() is the boundary around that function: it opens the device, meets
// the other ranks, delivers the result, and turns every exception of torch into an event for the engine.

#include <llvm/Support/JSON.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/llvm.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/declared/parameter_table.h"

namespace expc::workload {

/// Thrown when a trial is about to hold more than fits. The trial boundary reports the point as infeasible, as it
/// does when memory runs out.
class TooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Tells the engine how far a trial is: only rank 0 does, and at most five times a second, so that it does not
/// disturb the clock.
class Progress {
 public:
  /// The writer must outlive the object. `speaks` is true on rank 0.
  Progress(serve::EventWriter& writer, bool speaks) : writer_(writer), speaks_(speaks) {}

  /// `done` of `total` units of the phase. The last report always goes out.
  void report(uint64_t done, uint64_t total, std::string_view phase) {
    if (!speaks_) return;
    const auto now = base::Clock::now();
    if (now - last_ < std::chrono::milliseconds(200) && done != total) return;
    last_ = now;
    writer_.progress(done, total, phase);
  }

 private:
  serve::EventWriter& writer_;
  bool speaks_;
  base::Clock::time_point last_{};
};

/// The environment of one rank when its trial begins. `communicator` is connected and knows the device.
struct TrialContext {
  const protocol::TrialSpec& spec;
  comm::Communicator& communicator;
  device::Device& device;  // the first one, if the process drives several
  /// The slots of this process: an entry for each device that it drives (runtime/protocol/trial.h).
  ArrayRef<json::Value> slots;
  Progress& progress;
  base::Clock::time_point process_start;

  /// Takes ownership of what a trial runs on, until the trial has ended well. If it fails nothing is destroyed,
  /// neither before its reason is written nor after: a destructor may wait for a device that never answers again.
  template <typename Object>
  Object& keep(std::unique_ptr<Object> object) {
    Object& result = *object;
    kept.push_back(std::shared_ptr<Object>(std::move(object)));
    return result;
  }
  std::vector<std::shared_ptr<void>> kept = {};
};

/// A workload that this worker can run.
struct Workload : Declared {
  /// Runs a trial on one rank. Every rank returns; rank 0's event is the result, with all metrics of the trial's kind
  /// (null for one that this device cannot measure). An error is the trial's failure, worded for a reader. torch's
  /// exceptions may leave it.
  Expected<protocol::Event> (*run)(TrialContext& context);
  /// Whether a trial with these parameters wants algorithms that give the same bits each time. Asked before the ranks
  /// meet, since NCCL chooses its algorithms then. Null means never.
  bool (*deterministic)(const json::Object& parameters) = nullptr;
};

/// The workloads and devices that this worker was built with.
struct Capabilities {
  std::vector<Workload> workloads;
  std::vector<device::Backend> backends;
};

/// Runs one rank of a trial, found by RANK and its companions in the environment, and writes its events to
/// `event_fd`. Returns the exit code, 0 if the trial ended well. After any other code the caller must leave by
/// _exit(): broken communicators are not taken down, and their destructors could wait for ever.
int runRank(const Capabilities& capabilities, const protocol::TrialSpec& spec, int event_fd,
            base::Clock::time_point process_start);

}  // namespace expc::workload
