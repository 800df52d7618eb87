#pragma once

// Curves: the values of a series over its places (epochs, or steps that were logged).

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"
#include "runtime/stats/interval.h"

namespace expc::describe {

/// The runs' values at one place of their series.
struct CurvePlace {
  unsigned place = 1;  // from 1
  unsigned n = 0;      // runs whose series go as far; at least 1
  double median = 0, minimum = 0, maximum = 0;
  std::optional<stats::Interval> interval;  // of the median, at kConfidence; absent: too few runs
};

/// The runs of one point. Where their series differ in length the later places have fewer runs.
struct Curve {
  std::string point, metric;
  std::vector<CurvePlace> places;
};

/// More places than this are thinned out, evenly and with both ends, so that a long log stays a picture.
inline constexpr size_t kMostCurvePlaces = 200;

/// The curves of a series at all points where it was measured, in the plan's order. Values that are not finite are left
/// out.
std::vector<Curve> curvesOf(const judge::Index& index, const Metric& metric);

}  // namespace expc::describe
