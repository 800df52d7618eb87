#pragma once

// How a metric went over the run, and values that lie apart: what to look at before a number is believed. Descriptions;
// nothing is dropped.

#include <optional>
#include <string>
#include <vector>

#include "runtime/analysis/index.h"

namespace expc::analysis {

/// What blocks have in common, in the order they ran. Pairs do not see it; values of single points do.
struct Drift {
  std::string metric;
  unsigned blocks = 0;  // in which every point that was measured has a value
  double last = 1;      // what the last block is over the first by the trend: its median slope (Theil 1950, Sen 1968)
  double p = 1;         // of a trend (Mann 1945, Kendall 1975, normal approximation)
  // Both of the means of groups of consecutive blocks where there are more than a thousand of them.
  std::optional<double> first;  // the first block over the median of the others, where it lies outside of all of them
                                // by three times their spread: a warm-up
};

/// Absent for fewer than four blocks, and where a value is not above zero.
std::optional<Drift> driftOf(const Index& index, const plan::Metric& metric);

/// The p-value up to which a trend is told.
inline constexpr double kTrend = 0.01;

/// A value beyond Tukey's outer fences of its point.
struct Outlier {
  std::string metric, point;
  int64_t trial = 0, block = 0;
  double value = 0, median = 0;
};

/// Those of the metric, by trial.
std::vector<Outlier> outliersOf(const Index& index, const plan::Metric& metric);

}  // namespace expc::analysis
