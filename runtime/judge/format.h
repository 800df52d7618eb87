#pragma once

// Numbers of a plan's cells as people read them; runtime/base/numbers.h decides the digits.

#include <string_view>

#include "runtime/plan/plan.h"

namespace expc::judge {

/// Whether `n` trials without a failure leave it open that more than half of all runs fail.
bool showsLittle(unsigned n);

/// A half-width in the sense of `until`: "1.3 %" of a relative one, else in the subject's unit.
std::string widthText(const Plan& plan, const plan::Until& until, double width);

/// The dimension to format a cell's values with: that of the metric it reads, or "" for a ratio.
std::string_view dimensionOf(const Plan& plan, const plan::Cell& cell);

}  // namespace expc::judge
