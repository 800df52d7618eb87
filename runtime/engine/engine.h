#pragma once

// Runs a plan: opens sessions, appends blocks until nothing is missing, runs trials on the device slots, one at a time
// in each lane, and writes each result to the store before it goes on. A plan and options come in; results go to the
// store, news to a ProgressListener, and the RunOutcome says how the run ended.
//
// Which trials are missing is decided in runtime/judge. docs/layers/engine.md has the reasons for the design.

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/options.h"
#include "runtime/engine/progress.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// Measures what the plan lacks in `options.results`, and returns when it is complete or something ended the run.
///
/// Returns an error without starting a trial if a worker is missing or does not offer the plan's workload in the plan's
/// version, the driver is too old for the worker's CUDA, a command's program or inputs are missing, data is missing or
/// not what the lock holds, the results folder cannot be written or is in use, or no point is available on this
/// machine. A failing trial is a result, not an error. Handles SIGINT and SIGTERM while it runs; one run at a time in a
/// process.
Expected<RunOutcome> run(const Plan& plan, const EngineOptions& options, ProgressListener& listener);

/// Hints about what commands of the plan may look for and would not get, one line each: variables that are set here,
/// modules beside the study. Empty if a run would be refused.
std::vector<std::string> notGiven(const Plan& plan, const EngineOptions& options);

/// The stored trials that a run would continue from. Returns nothing if its inputs cannot be digested within `seconds`.
/// Errors are those that would refuse the run. Writes nothing, and asks no worker if nothing is stored.
Expected<std::optional<Results>> countedNow(const Plan& plan, const EngineOptions& options, double seconds);

}  // namespace expc::engine
