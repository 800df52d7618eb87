#pragma once

// Joins what the ranks of a program reported with `import expc`: rank 0 into kTrialFile, each other one its last values
// into a file of its own (python/expc). The measurements of the processes are joined, too: each rank but rank 0 leaves
// its own in a file when it has ended.

#include <string>

#include "runtime/base/llvm.h"
#include "runtime/worker/command/process.h"

namespace expc::command {

/// Adds to rank 0's report what all ranks reported: for each number NAME the values by rank (`NAME_by_rank`, a line for
/// each); `step_time_slowest`, `step_time_spread` (the part of the slowest rank's step that the fastest does not need);
/// and the largest peak of device memory in place of rank 0's. A program without ranks is left alone. Error: the report
/// cannot be written.
Error joinRanks(const std::string& folder);

/// Leaves the measurements of a rank other than 0 in the folder of outputs. Error: they cannot be written.
Error leaveEnd(const std::string& folder, unsigned rank, const std::string& trial, const ProgramEnd& end);

/// Waits until all ranks have left theirs of this trial, and makes `end`, which is rank 0's, that of all `ranks`: the
/// time from the first start to the last end, the sum of the processor times, and the largest resident set. Clocks of
/// nodes are not compared: where ranks are on several, the node with the longest time counts.
/// @param each number of ranks on a node, which are numbered from node to node
Error joinEnds(const std::string& folder, unsigned ranks, unsigned each, const std::string& trial, ProgramEnd& end);

}  // namespace expc::command
