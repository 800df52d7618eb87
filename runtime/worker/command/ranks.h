#pragma once

// Joins what the ranks of a program reported with `import expc`: rank 0 into kTrialFile, each other one its last values
// into a file of its own (python/expc).

#include <llvm/Support/Error.h>

#include <string>

namespace expc::command {

/// Adds to rank 0's report what all ranks reported: for each number NAME the values by rank (`NAME_by_rank`, a line for
/// each); `step_time_slowest`, `step_time_spread` (the part of the slowest rank's step that the fastest does not need);
/// and the largest peak of device memory in place of rank 0's. A program without ranks is left alone. Error: the report
/// cannot be written.
llvm::Error joinRanks(const std::string& folder);

}  // namespace expc::command
