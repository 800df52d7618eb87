#pragma once

// Rehearses a plan: runs a few steps of every point in the real worker on null cards. That tells what a step does, how
// much memory it takes, and whether the point runs and fits at all, without a GPU. Results go to runtime/rehearsal's
// file, never to the store, and no verdict comes from them.

#include <optional>
#include <string>

#include "runtime/base/llvm.h"
#include "runtime/engine/engine.h"
#include "runtime/rehearsal/rehearsal.h"

namespace expc::engine {

/// The options of a rehearsal. `null_gpus` must be set.
struct RehearsalOptions : Resources {     // `null_gpus` must be there
  std::string results;                    // folder; made if missing
  std::optional<double> timeout_seconds;  // of each point; absent: judge::kDefaultTimeoutSeconds
  bool again = false;                     // also points that the same worker has rehearsed on the same cards
};

/// The outcome of a rehearsal; an interrupted one has the points until then.
struct RehearsalOutcome {
  rehearsal::Study study;  // the plan's points in its order; those not reached are missing
  unsigned rehearsed = 0;  // points that were launched
  unsigned kept = 0;       // points whose earlier rehearsal still holds
  bool interrupted = false;
};

/// Launches each point of the plan once, one after the other, also those that are expected not to fit. Writes
/// RESULTS/rehearsals/STUDY.json after each point, so that the next call continues an interrupted rehearsal. A point
/// that fails is a result. Errors: a worker is missing or lacks the workload; the results folder cannot be written, is
/// in use, or holds a damaged file of rehearsals. Handles SIGINT and SIGTERM while it runs.
Expected<RehearsalOutcome> rehearse(const Plan& plan, const RehearsalOptions& options, ProgressListener& listener);

}  // namespace expc::engine
