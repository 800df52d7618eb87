#pragma once

#include "compiler/check/check.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

plan::TrialKind toPlan(check::TrialKind kind);
plan::Metric toPlan(const check::Metric& metric);
plan::Bound toPlan(const check::Bound& bound);

/// A metric at a point.
plan::TermPtr metricTerm(const check::Metric& metric, const std::string& point);

/// A comparison's value for two points. Speed-up: what is better counts above 1, so baseline over treated where lower
/// is better, treated over baseline where higher is. Ratio: treated over baseline. Difference: treated minus baseline.
/// Efficiency (strong scaling of a rate): (treated / baseline) x (base / k), with k and base the numeric levels.
plan::TermPtr comparisonTerm(const check::Study& study, const check::Comparison& comparison, const std::string& treated,
                             unsigned treated_level, const std::string& baseline, unsigned baseline_level);
plan::Estimator estimatorOf(const check::Comparison& comparison);

}  // namespace expc::lower
