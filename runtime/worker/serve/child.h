#pragma once

#include <sys/types.h>

#include "runtime/worker/serve/serve.h"

namespace expc::serve {

/// Makes the forked process the rank that `request` describes (Child lists what is set) and ends it.
[[noreturn]] void runChild(const plan::LaunchRequest& request, int event_fd, int log_fd, pid_t server,
                           const Child& child);

}  // namespace expc::serve
