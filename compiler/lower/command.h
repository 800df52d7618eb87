#pragma once

#include "compiler/check/model.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// A command of the user's, as the plan has it.
plan::Command commandOf(const check::Workload& workload);

}  // namespace expc::lower
