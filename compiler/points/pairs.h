#pragma once

// Finds the partner that a point is compared with, and builds the terms of a plan that express it.

#include <optional>
#include <string>
#include <vector>

#include "compiler/expand/space.h"
#include "runtime/plan/plan.h"

namespace expc::points {

/// Why a point has no partner: what is in the way of the point that it would be compared with.
struct Missing {
  expand::Obstacle obstacle;
  unsigned level = 0;  // LeftOut: which one

  auto operator<=>(const Missing&) const = default;
};
/// Name of a rule for people: its own, or "line 12".
std::string ruleName(const check::Rule& rule, const source::SourceManager& sources);
/// "the rule of slow removes it (a day for one point)"
std::string text(const Missing& missing, const check::Study& study, const source::SourceManager& sources);

/// The partner of a point: a point at another level of the compared factor that agrees on every other factor which is
/// active in both. The search asks the space, so it needs no list of points.
struct Partner {
  enum class Found {
    NotTreated,  // the point is a baseline itself, or the factor does not vary there
    None,        // no partner
    One,
    Several  // factors that are active only at the baseline have several levels there
  } found = Found::NotTreated;
  std::vector<unsigned> point = {};  // One; Several: one of them
  Missing missing = {};              // None
};
/// The partner of `point` in a comparison; of an inner one nothing is asked.
Partner partnerOf(const expand::Space& space, const check::Comparison& comparison, expand::Levels point);
/// Whether a comparison has a value at `point`: it and those inside it have partners. The answer is that of the
/// outermost.
Partner comparedAt(const expand::Space& space, const check::Comparison& comparison, expand::Levels point);
/// Calls `visit` for every point that the value at `point` reads, treated ones first; it must exist. Without a
/// comparison that is the point itself.
void forEachRead(const expand::Space& space, const check::Comparison* comparison, expand::Levels point,
                 llvm::function_ref<void(expand::Levels)> visit);

plan::Metric toPlan(const check::Study& study, const check::Metric& metric);

/// A comparison's value at a point, from those of the treated and the baseline point. Speed-up: what is better counts
/// above 1, so baseline over treated where lower is better, treated over baseline where higher is. Ratio: treated over
/// baseline. Difference: treated minus baseline. Efficiency: of a rate (treated / baseline) x (base / k), with k and
/// base the numeric levels; of a time (baseline / treated) x (base / k) where the work is the same at all levels,
/// baseline / treated where each device's is. Greatest gap: of two series, the largest distance at one place. `name`
/// gives the ids of the points that it reads; the comparison must have a value at `point`.
plan::TermPtr comparisonTerm(const expand::Space& space, const check::Comparison& comparison, expand::Levels point,
                             llvm::function_ref<std::string(expand::Levels)> name);
/// The comparison's value if devices lost nothing to each other. It is 1 for efficiency. For a speed-up it is k / base,
/// where k and base are the numeric levels of the compared factor: for a rate over a factor that counts devices, and
/// for a time if `shared` says that all levels share the same work. Empty if the value is not known.
std::optional<double> idealOf(const check::Study& study, const check::Comparison& comparison, unsigned treated,
                              unsigned baseline, bool shared);
plan::Estimator estimatorOf(const check::Comparison& comparison);

}  // namespace expc::points
