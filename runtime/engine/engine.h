#pragma once

// Runs a plan: opens a session, appends blocks until nothing is missing, starts one trial at a time on the device slots
// and writes what happened to the store before it goes on.

#include <llvm/Support/Error.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/options.h"
#include "runtime/engine/progress.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// Never starts a trial and returns an error when: a worker is missing or does not offer the plan's workload in the
/// plan's version, the driver is too old for its CUDA, a command's program or inputs are missing, data is missing or
/// not what the lock holds, the results folder cannot be written or is in use, no point is available on this machine. A
/// failing trial is a result, not an error. Handles SIGINT and SIGTERM while it runs.
llvm::Expected<RunOutcome> run(const plan::Plan& plan, const EngineOptions& options, ProgressListener& listener);

/// Names what commands of the plan may look for and would not get, a line each: variables that are set here, modules
/// beside the study. Empty where a run would be refused.
std::vector<std::string> notGiven(const plan::Plan& plan, const EngineOptions& options);

/// The part of `results` that a run would go on from; empty if its inputs are not read within `seconds`. The error is
/// the one that would refuse the run. Writes nothing, and asks no worker where nothing is stored.
llvm::Expected<std::optional<store::Results>> countedNow(const plan::Plan& plan, const EngineOptions& options,
                                                         double seconds);

}  // namespace expc::engine
