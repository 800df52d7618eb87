#pragma once

// What descriptions of a study read: the values of a metric at its points, block by block.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/analysis/index.h"

namespace expc::analysis {

/// The metrics that the study's comparisons, criteria, tables and plots are about, in the order of the plan's metrics:
/// of what else was measured a description would only be long.
std::vector<std::string> mentionedMetrics(const plan::Plan& plan);

/// One measured value.
struct PointValue {
  int64_t block = 0, session = 0, trial = 0;
  double value = 0;
};

/// The finite values of a metric at a point, by block and session: of valid trials.
std::vector<PointValue> valuesAt(const Index& index, const plan::Metric& metric, const plan::Point& point);

}  // namespace expc::analysis
