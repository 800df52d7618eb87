#pragma once

// The workload `null.idle` (stdlib/null.exp): sleeps, and makes up values that depend on seed and parameters alone.

#include <llvm/Support/JSON.h>

#include "runtime/base/llvm.h"
#include "runtime/protocol/trial.h"

namespace expc::null {

inline constexpr std::string_view kWorkload = "null.idle";
inline constexpr int kWorkloadVersion = 1;

/// One rank; the exit code.
int runIdle(const protocol::LaunchRequest& request, int event_fd);

/// What `--describe` prints.
json::Value describe();

}  // namespace expc::null
