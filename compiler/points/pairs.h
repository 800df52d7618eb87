#pragma once

// Finds the point that another one is compared with, and builds the term of a plan that expresses the
// comparison. Partners are found by asking the space, so that no list of points is needed.
//
// Two points are partners if the baseline point is at the baseline level of the compared factor and agrees with
// the treated point on every other factor that is active in both (docs/layers/compiler.md, "Comparisons and
// criteria").

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/expand/space.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::points {

using expand::Levels, expand::Space;

/// The reason why a point has no partner: the obstacle at the point that it would be compared with.
struct Missing {
  expand::Obstacle obstacle;
  /// LeftOut: the level that the selection does not keep.
  unsigned level = 0;

  auto operator<=>(const Missing&) const = default;
};
/// A rule's name for people: its own, or "line 12".
std::string ruleName(const check::Rule& rule, const source::SourceManager& sources);
/// The reason in words: "the rule of slow removes it (a day for one point)".
std::string text(const Missing& missing, const check::Study& study, const source::SourceManager& sources);

/// The result of the search for a point's partner: a point at another level of the compared factor that agrees
/// on every other factor which is active in both.
struct Partner {
  enum class Found {
    /// The point is a baseline itself, or the compared factor does not vary there.
    NotTreated,
    /// There is no partner; `missing` says why.
    None,
    /// Exactly one partner.
    One,
    /// Factors that are active only at the baseline have several levels there, so no single point is meant
    /// (E0408).
    Several
  } found = Found::NotTreated;
  /// The partner if One; the first one found if Several.
  std::vector<unsigned> point = {};
  /// Filled if None.
  Missing missing = {};

  explicit operator bool() const { return found == Found::One; }
};
/// The parts of an aggregate's group, in walking order, and why combinations of the aggregated levels are none. The
/// points that differ only in factors that an aggregate lacks are a group. The group has one value, which stands at its
/// first part; at its other points the aggregate has none.
struct Parts {
  std::vector<std::vector<unsigned>> points;
  std::map<Missing, uint64_t> missing;
};

/// A comparison or an aggregate (aggregates.cpp) at a point.
struct Compared {
  const Space& space;
  const check::Comparison& comparison;
  Levels point;

  /// The partner of the point. For a comparison of a comparison this is the outer pair; whether the inner one has
  /// values is not asked.
  Partner partner() const;
  /// Whether there is a value, inner comparisons included: One if all partners exist. Otherwise the answer of the
  /// first search that failed; the point is that of the outermost comparison.
  Partner value() const;
  /// The term of the value, which must exist, from the metric of the treated and the baseline point.
  ///   speedup     above 1 is better: baseline / treated if lower is better, else treated / baseline
  ///   ratio       treated / baseline
  ///   difference  treated - baseline
  ///   efficiency  of a rate (treated / baseline) x (base / k), where k and base are the numeric levels; of a time
  ///               (baseline / treated) x (base / k) if all levels share the work, baseline / treated if each device
  ///               has its own
  ///   max_gap     the largest distance between two series at one place
  /// `name` gives the ids of the points.
  plan::TermPtr term(function_ref<std::string(Levels)> name) const;

  /// The parts of the aggregate's group.
  Parts parts() const;
  /// The weight of the point as a part; nothing if the formula has no number there.
  std::optional<double> weight() const;

  // Steps of these; `part_value` gives the terms of an aggregate's parts.
  Partner partnerAt(unsigned level) const;
  Partner aggregated() const;
  plan::TermPtr aggregateTerm(function_ref<plan::TermPtr(Levels)> part_value,
                              function_ref<std::string(Levels)> name) const;
};

/// Calls `visit` for every point that the comparison's value at `point` reads; a point may come twice. `treated`: only
/// for the treated ones, one for each part of an aggregate, else `point` alone. The value must exist (Compared::value).
/// Without a comparison visits `point` alone.
void forEachRead(const Space& space, const check::Comparison* comparison, Levels point,
                 function_ref<void(Levels)> visit, bool treated = false);

/// A metric as a plan describes it; a derived one with its formula as a term.
plan::Metric toPlan(const check::Study& study, const check::Metric& metric);

/// The comparison's value if devices lost nothing to each other: 1 for efficiency; k / base for a speed-up,
/// where k and base are the numeric levels of the compared factor. That holds for a rate over a factor that
/// counts devices, and for a time if `shared` says that all levels share the same work. Nothing if the value is
/// not known.
std::optional<double> idealOf(const check::Study& study, const check::Comparison& comparison, unsigned treated,
                              unsigned baseline, bool shared);
/// How values of a comparison are combined over blocks: ratios on a log scale, differences as they are, medians
/// for gaps.
plan::Estimator estimatorOf(const check::Comparison& comparison);

}  // namespace expc::points
