#pragma once

// What a metric of a point is in one trial: measured, the last value of a series, or derived from other metrics.

#include "runtime/analysis/outcomes.h"
#include "runtime/plan/evaluate.h"

namespace expc::analysis {

using plan::Reading;

/// The metric in an outcome that ended. A timeout is worse than every value, also of a derived metric; a metric that
/// this device cannot give is no value even then.
Reading readMetric(const plan::Plan& plan, const Outcomes& outcomes, const std::string& metric, const Outcome& outcome);

}  // namespace expc::analysis
