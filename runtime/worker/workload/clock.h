#pragma once

// The clock of timed trials (docs/layers/engine.md): `warmup` steps, then the time of `steps` steps between two
// barriers on idle devices.

#include <llvm/Support/Error.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/worker/workload/parameter_reader.h"
#include "runtime/worker/workload/stepping.h"

namespace expc::workload {

struct Clocked {
  /// The largest over the ranks, in seconds: from process start to the clock's start, the very first step, all timed
  /// steps, the median of one, waiting for batches.
  double startup = 0, first_step = 0, wall = 0, step = 0, load_wait = 0;
  std::vector<double> steps;     // this rank's
  std::optional<double> energy;  // joules of this rank's device; nothing: not measured
  std::vector<std::string> notes;
};

/// `before_steps` is called between warm-up and timed steps, outside of the clock.
llvm::Expected<Clocked> clockSteps(TrialContext& context, Stepping& training, const Settings& settings,
                                   const std::function<void()>& before_steps = {});

/// host_memory_peak, device_memory_peak, device_memory_allocated_peak and energy over the ranks, into a result's
/// metrics. Every rank calls it.
void addResources(TrialContext& context, const Clocked& clocked, llvm::json::Object& metrics);

}  // namespace expc::workload
