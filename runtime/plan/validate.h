#pragma once

#include <llvm/Support/Error.h>

#include "runtime/plan/plan.h"

namespace expc::plan {

/// Whether the plan can be written and read again: what planFromJson says of what toJson makes of it. Asked of every
/// plan before anything is measured for it, so that no store keeps one that is not read any more.
llvm::Error validate(const Plan& plan);

}  // namespace expc::plan
