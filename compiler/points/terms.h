#pragma once

#include <optional>
#include <string>

#include "compiler/check/check.h"
#include "compiler/points/pairs.h"
#include "runtime/plan/plan.h"

namespace expc::points {

plan::Metric toPlan(const check::Study& study, const check::Metric& metric);

plan::TermPtr constantTerm(double value);
/// A metric at a point; derived ones by name too (plan::Metric::derived says what they are).
plan::TermPtr metricTerm(const check::Metric& metric, const std::string& point);

/// A comparison's value at a point, from those of the treated and the baseline point. Speed-up: what is better counts
/// above 1, so baseline over treated where lower is better, treated over baseline where higher is. Ratio: treated over
/// baseline. Difference: treated minus baseline. Efficiency: of a rate (treated / baseline) x (base / k), with k and
/// base the numeric levels; of a time (baseline / treated) x (base / k) where the work is the same at all levels,
/// baseline / treated where each device's is. Greatest gap: of two series, the largest distance at one place. `name`
/// gives the ids of the points that it reads; the comparison must have a value at `point`.
plan::TermPtr comparisonTerm(const check::Study& study, const check::Comparison& comparison, const Pairs& pairs,
                             expand::Levels point, llvm::function_ref<std::string(expand::Levels)> name);
/// What the comparison's value would be if devices lost nothing to each other: 1 for efficiency; for a speed-up k /
/// base, with k and base the numeric levels, of a rate over what counts devices and, where `shared` says that all
/// levels share the same work, of a time. Nothing where that is not known. The levels are of the factor that is
/// compared over.
std::optional<double> idealOf(const check::Study& study, const check::Comparison& comparison, unsigned treated,
                              unsigned baseline, bool shared);
plan::Estimator estimatorOf(const check::Comparison& comparison);

}  // namespace expc::points
