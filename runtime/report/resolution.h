#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace expc::report {

/// "10 blocks at 1 % noise resolve ±1.0 %" for a ratio with a confidence, or what else can be said before a run; "" if
/// nothing.
std::string resolutionText(const plan::Plan& plan, const plan::Criterion& criterion, double noise);

}  // namespace expc::report
