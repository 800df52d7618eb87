#pragma once

#include "compiler/driver/commands.h"

namespace expc::driver {

/// Hands the run to a cluster, or prints the script that would be handed over; follows it unless it is detached.
int submitRun(const RunOptions& options, const Console& console);

/// Runs it in a process that outlives the terminal, with its output in the folder of jobs.
int detachRun(const RunOptions& options, const Console& console, int (*run)(const RunOptions&, const Console&));

}  // namespace expc::driver
