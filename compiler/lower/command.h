#pragma once

// A command of the user's: how the plan has it, and what of it belongs to the plan's digest.

#include <llvm/Support/JSON.h>

#include "compiler/check/model.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

plan::Command commandOf(const check::Workload& workload);

/// All that a command means, whatever the order of its declarations.
llvm::json::Object commandDigest(const check::Workload& workload);

}  // namespace expc::lower
