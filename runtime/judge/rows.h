#pragma once

// The points that one trial measured, with its values there.

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::judge {

/// Calls `visit` with each point that a trial measured, and what it measured there: of a process each of its points, of
/// which the first has the values of the process as well. Null for a point that the plan does not have.
void forEachPoint(const Plan& plan, const Trial& trial, function_ref<void(const Point*, const Trial&)> visit);

}  // namespace expc::judge
