#pragma once

// What a built-in workload is: a name, what it takes, what it measures, and how one rank runs a trial of it; and what
// happens around it, behind which torch's exceptions stay.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/protocol/trial.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/declared/parameter_table.h"

namespace expc::workload {

/// What a trial is about to hold cannot fit. The trial boundary makes the point infeasible, as where memory runs out.
class TooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Tells the engine how far a trial is: from rank 0 only, and at most five times a second, so that it costs the clock
/// nothing.
class Progress {
 public:
  Progress(serve::EventWriter& writer, bool speaks) : writer_(writer), speaks_(speaks) {}

  void report(uint64_t done, uint64_t total, std::string_view phase) {
    if (!speaks_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(200) && done != total) return;
    last_ = now;
    writer_.progress(done, total, phase);
  }

 private:
  serve::EventWriter& writer_;
  bool speaks_;
  std::chrono::steady_clock::time_point last_{};
};

/// What one rank has when its trial begins. `communicator` is connected and knows the device.
struct TrialContext {
  const protocol::TrialSpec& spec;
  comm::Communicator& communicator;
  device::Device& device;  // the first one of several
  /// What this process owns: an entry for each device it drives (runtime/protocol/trial.h).
  llvm::ArrayRef<llvm::json::Value> slots;
  Progress& progress;
  std::chrono::steady_clock::time_point process_start;

  /// Keeps what a trial runs on until it has ended well. Of one that fails nothing is taken down before or after its
  /// reason is written: a destructor may wait for a device that never answers again.
  template <typename Object>
  Object& keep(std::unique_ptr<Object> object) {
    Object& result = *object;
    kept.push_back(std::shared_ptr<Object>(std::move(object)));
    return result;
  }
  std::vector<std::shared_ptr<void>> kept = {};
};

struct Workload : Declared {
  /// Runs a trial on this rank. Every rank returns; rank 0's event is the result, with all metrics of the trial's kind
  /// (null: not on this device). An error is the trial's failure, for a reader; exceptions of torch may leave it too.
  llvm::Expected<protocol::Event> (*run)(TrialContext& context);
  /// Whether a trial with these parameters asks for algorithms that give the same bits each time. It is asked before
  /// the ranks meet, since NCCL chooses its algorithms then. Null: never.
  bool (*deterministic)(const llvm::json::Object& parameters) = nullptr;
};

/// What this worker was built with.
struct Capabilities {
  std::vector<Workload> workloads;
  std::vector<device::Backend> backends;
};

/// Runs one rank of a trial, found by RANK and the other variables, and writes its events. Returns the exit code: 0
/// when it ended well. After anything else the caller must leave by _exit(): communicators that broke are not taken
/// down.
int runRank(const Capabilities& capabilities, const protocol::TrialSpec& spec, int event_fd,
            std::chrono::steady_clock::time_point process_start);

}  // namespace expc::workload
