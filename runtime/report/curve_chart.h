#pragma once

// A series over its places (`plot loss over epoch by method`) as Vega-Lite specifications.

#include <vector>

#include "runtime/analysis/curves.h"
#include "runtime/plan/plan.h"
#include "runtime/report/chart.h"

namespace expc::report {

/// A median for each place of the runs' series, with a band around it: its interval where all places have one, else
/// from the lowest run to the highest. Colours are levels of the plot's first `by`; further factors that vary make
/// separate charts on one scale, as `charts` does. `left_out` counts the curves that are not drawn.
std::vector<Chart> curveCharts(const plan::Plan& plan, const std::vector<analysis::Curve>& curves,
                               const plan::Plot& plot, size_t& left_out);

}  // namespace expc::report
