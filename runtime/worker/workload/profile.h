#pragma once

// Profile trials, whatever they train.

#include <llvm/Support/Error.h>

#include <vector>

#include "runtime/worker/workload/training.h"

namespace expc::workload {

/// The metrics of profile trials, of which nothing is measured yet.
std::vector<profile::Measure> profileMetrics();

/// Steps that are traced, where a trace is asked for.
inline constexpr int64_t kTracedSteps = 3;

/// `warmup` steps, then `steps` profiled ones; the result has the training's notes first, and the loss of each step.
/// Where EXPC_TRACE names a file without its ending, a few more steps are traced into EXPC_TRACE.rank0.json, …; nothing
/// is measured of these.
llvm::Expected<plan::Event> profileTrial(TrialContext& context, Training& training, const Settings& settings);

}  // namespace expc::workload
