#pragma once

// Drift: the trend of a metric over the run. Look at it before you believe a number.

#include <optional>
#include <string>

#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

/// A drift that blocks share, in the order they ran. Pairs cancel it; values of single points show it.
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
std::optional<Drift> driftOf(const judge::Index& index, const Metric& metric);

/// The p-value up to which a trend is told.
inline constexpr double kTrend = 0.01;

}  // namespace expc::describe
