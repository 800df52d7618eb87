#pragma once

#include <sys/types.h>

#include "runtime/worker/serve/serve.h"

namespace expc::serve {

/// Makes the forked process the rank that `request` describes (Child lists what is set) and ends it.
[[noreturn]] void runChild(const plan::LaunchRequest& request, int event_fd, int log_fd, pid_t server,
                           const Child& child);

/// Binds this process to the cores and memory of a rank's slots; where that may not be done the log says so.
void takePlace(const plan::TrialSpec& spec, unsigned rank);

/// `child`, with an exception that leaves it told as `failed`.
int runGuarded(const plan::LaunchRequest& request, int event_fd, const Child& child);

}  // namespace expc::serve
