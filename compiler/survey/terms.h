#pragma once

#include <optional>
#include <string>

#include "compiler/check/check.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

plan::TrialKind toPlan(check::TrialKind kind);
plan::Metric toPlan(const check::Study& study, const check::Metric& metric);
plan::Bound toPlan(const check::Bound& bound);

plan::TermPtr constantTerm(double value);
/// A metric at a point; derived ones by name too (plan::Metric::derived says what they are).
plan::TermPtr metricTerm(const check::Metric& metric, const std::string& point);

/// A comparison's value from those of the treated and the baseline point. Speed-up: what is better counts above 1, so
/// baseline over treated where lower is better, treated over baseline where higher is. Ratio: treated over baseline.
/// Difference: treated minus baseline. Efficiency (of a rate): (treated / baseline) x (base / k), with k and base the
/// numeric levels. Greatest gap: of two series, the largest distance at one place.
plan::TermPtr comparisonTerm(const check::Study& study, const check::Comparison& comparison, plan::TermPtr treated,
                             unsigned treated_level, plan::TermPtr baseline, unsigned baseline_level);
/// The same of two numbers; nothing for a gap, or on division by zero.
std::optional<double> compareValues(const check::Study& study, const check::Comparison& comparison, double treated,
                                    unsigned treated_level, double baseline, unsigned baseline_level);
plan::Estimator estimatorOf(const check::Comparison& comparison);

}  // namespace expc::lower
