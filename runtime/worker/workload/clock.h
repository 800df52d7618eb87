#pragma once

// The clock of timed trials (docs/layers/engine.md): `warmup` steps, then the time of `steps` steps between two
// barriers on idle devices.

#include <llvm/Support/Error.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/worker/workload/training.h"

namespace expc::workload {

struct Clocked {
  /// The largest over the ranks, in seconds: from process start to the clock's start, the very first step, all timed
  /// steps, the median of one, waiting for batches.
  double startup = 0, first_step = 0, wall = 0, step = 0, load_wait = 0;
  // This rank's. Nothing: not measured.
  std::vector<double> steps;
  std::optional<double> energy;  // joules of its device
  std::optional<double> host_memory;
  std::optional<device::MemoryPeaks> device_memory;
  std::vector<std::string> notes;
};

/// The metrics that timed trials of every training have.
std::vector<profile::Measure> timedMetrics(const Clocked& clocked);

/// The result has the training's notes first, what every training is asked for, and what is its own. Every rank calls
/// it.
llvm::Expected<plan::Event> timedTrial(TrialContext& context, Training& training, const Settings& settings);

}  // namespace expc::workload
