#pragma once

// What there is to see in a study's results beside its verdicts. Everything here describes, and judges nothing.

#include <string>
#include <vector>

#include "runtime/analysis/curves.h"
#include "runtime/analysis/drift.h"
#include "runtime/analysis/effects.h"
#include "runtime/analysis/ranking.h"

namespace expc::analysis {

struct Ranking {
  std::string metric;
  std::vector<Ranked> points;
};

struct Description {
  std::vector<Effects> effects;   // of metrics over grids of two factors and more: of one, comparisons say it
  std::vector<Ranking> rankings;  // of three points and more, where blocks tell some apart
  std::vector<Front>
      fronts;  // of the first metric with each other one, where some points are beaten and several are not
  std::vector<Front> plotted;  // of each plot of one metric over another: over, then subject
  std::vector<Curve> curves;   // of the series that plots draw over their places
  std::vector<Drift> drifts;   // with a warm-up or a trend
  std::vector<Outlier> outliers;
};

/// Of the metrics that the study is about.
Description describe(const Index& index);

}  // namespace expc::analysis
