#pragma once

// Grids as Vega-Lite specifications: the estimate with its interval and the values of single blocks.

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/report/chart_axes.h"
#include "runtime/report/grid.h"

namespace expc::report {

struct Chart {
  std::string caption;  // the facet: "layout=nhwc"; "" if there is one chart
  llvm::json::Object specification;
};

/// One chart for each combination of the factors beyond x (the last row factor) and colour (the column factor), all on
/// one scale. At most kMaxCharts; `left_out` says how many there would be more. Empty if the grid has no finite
/// estimate, or more places on x than can be told apart.
inline constexpr size_t kMaxCharts = 12;
std::vector<Chart> charts(const plan::Plan& plan, const Grid& grid, size_t& left_out);

/// Whether these are heat maps, which show estimates alone: there are more columns than colours to draw them in, so
/// that the grid itself is the chart.
bool areHeatMaps(const Grid& grid);

}  // namespace expc::report
