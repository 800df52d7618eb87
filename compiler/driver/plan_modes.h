#pragma once

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/lower/lower.h"
#include "runtime/report/plan_text.h"

namespace expc::driver {

/// How much there is of what the outline leaves out.
report::PlanCounts countsOf(const lower::Outline& outline);

/// `plan --where CONDITION --page N`: the points that satisfy the condition, a page of them. With JSON lines a header
/// and all of them. False when standard output took no more.
bool listPoints(points::Prepared& prepared, const expand::Condition* where, const PlanOptions& options,
                const Console& console);

/// `plan --explain POINT`: where each value of the point comes from, or what removed it. Nothing of the study is shown
/// when `point` names none in it; then false, after a report.
bool explainPoint(points::Prepared& prepared, const std::string& point, const Console& console, diag::Emitter& emitter);

}  // namespace expc::driver
