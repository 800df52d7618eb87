#pragma once

// Reads metrics again from the kept output of commands, after a study changed how it extracts them, so that nothing has
// to run again. Trials of the store come in; trials with new values and readings go back to it.

#include <map>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::engine {

/// Counts of what extract() did, by trial.
struct ExtractOutcome {
  unsigned read = 0;                        // trials that have new values
  unsigned as_before = 0;                   // trials that were read as the plan says already
  unsigned not_kept = 0;                    // trials without a kept output
  std::map<std::string, unsigned> refused;  // why trials could not be read -> how many
  std::vector<std::string> messages;        // messages of the store, for the user
};

/// Re-reads each trial of the plan's commands that is valid, or that failed although its program ended well. Metrics
/// that the plan reads differently from how the trial was read, or that the trial lacks, are read from its kept output;
/// other values stay. Error: the results folder is in use or not a store, or the worker `command_worker` cannot be
/// asked.
Expected<ExtractOutcome> extract(const Plan& plan, const std::string& results, const std::string& command_worker);

}  // namespace expc::engine
