#pragma once

// Rehearses a plan: a few steps of every point in the real worker on null cards, which tell what a step does and takes
// and whether the point runs and fits at all. Nothing of it goes to the store.

#include <llvm/Support/Error.h>

#include <optional>
#include <string>

#include "runtime/engine/engine.h"
#include "runtime/rehearsal/rehearsal.h"

namespace expc::engine {

struct RehearsalOptions : Resources {     // `null_gpus` must be there
  std::string results;                    // folder; made if missing
  std::optional<double> timeout_seconds;  // of each point; absent: kDefaultTimeoutSeconds
  bool again = false;                     // also points that the same worker has rehearsed on the same cards
};

struct RehearsalOutcome {
  rehearsal::Study study;  // what is known of the plan's points, in its order; those not reached are missing
  unsigned rehearsed = 0;  // points that were launched
  unsigned kept = 0;       // that were there before and are as good
  bool interrupted = false;
};

/// One launch for each point of the plan, one after the other, also of those that are expected not to fit. Writes
/// RESULTS/rehearsals/STUDY.json after each, so that an interrupted rehearsal is continued by the next. A point that
/// fails is a result. Errors: a worker is missing or has not the workload, the results folder cannot be written, is in
/// use, or holds a damaged file of rehearsals. Handles SIGINT and SIGTERM while it runs.
llvm::Expected<RehearsalOutcome> rehearse(const plan::Plan& plan, const RehearsalOptions& options,
                                          ProgressListener& listener);

}  // namespace expc::engine
