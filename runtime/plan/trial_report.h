#pragma once

// The file by which a program reports values to its trial, with Python's `import expc` (python/expc); `from trial`
// reads it.

#include <algorithm>
#include <string>

#include "runtime/plan/plan.h"

namespace expc::plan {

/// The file's name in the trial's folder: JSON lines, of which the last lists all names under "expc".
inline constexpr char kTrialFile[] = "expc-trial.jsonl";
/// The file in which a rank other than 0 reports its last values: one line.
inline std::string trialFileOf(size_t rank) { return "expc-trial." + std::to_string(rank) + ".jsonl"; }

/// Whether metrics are read `from trial`. Such a program is told all parameters and settings, whatever its arguments
/// hold.
inline bool asksTrial(const Command& command) {
  return std::ranges::any_of(command.metrics, [](const CommandMetric& metric) { return metric.file == kTrialFile; });
}

}  // namespace expc::plan
