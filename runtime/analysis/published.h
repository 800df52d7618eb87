#pragma once

#include <optional>

#include "runtime/plan/plan.h"

namespace expc::analysis {

/// What the plan's references give for a term over points: a published metric, or a comparison of published ones. A
/// value without an interval; nothing where some part is not published. Of several references the first that has a
/// value counts.
std::optional<double> publishedValue(const plan::Plan& plan, const plan::Term& term);
std::optional<double> publishedValue(const plan::Plan& plan, const plan::Point& point, const plan::Metric& metric);

}  // namespace expc::analysis
