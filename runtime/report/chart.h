#pragma once

// Results as Vega-Lite specifications, ready to draw. How each kind of chart looks is in its file (assets/*.vl.json);
// here are the rows and the settings that go into it.

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/description.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/grid.h"

namespace expc::report {

struct Chart {
  std::string caption;  // the facet: "layout=nhwc"; "" if there is one chart
  llvm::json::Object specification;
};

/// The most charts of one thing. `left_out` below counts what is not drawn.
inline constexpr size_t kMaxCharts = 12;

/// The estimates of a grid with their intervals and the values of single blocks. One chart for each combination of the
/// factors beyond x (the last row factor) and colour (the column factor), all on one scale. Empty if the grid has no
/// finite estimate, or more places on x than can be told apart.
std::vector<Chart> charts(const plan::Plan& plan, const Grid& grid, size_t& left_out);

/// Whether these are heat maps, which show estimates alone: there are more columns than colours to draw them in, so
/// that the grid itself is the chart.
bool areHeatMaps(const Grid& grid);

/// A series over its places (`plot loss over epoch by method`): the median of the runs at each, with a band around it,
/// which is its interval where all places have one, else from the lowest run to the highest. Colours are levels of the
/// plot's first `by`; further factors that vary make separate charts on one scale.
std::vector<Chart> curveCharts(const plan::Plan& plan, const std::vector<analysis::Curve>& curves,
                               const plan::Plot& plot, size_t& left_out);

/// One metric against another (`plot accuracy over step_time by precision`): each point with its medians and their
/// intervals; colours are levels of the plot's first `by`, shapes of its second. Points that none beats in both metrics
/// are joined. One chart, or none where no point has both metrics.
std::vector<Chart> scatterCharts(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Plot& plot,
                                 size_t& left_out);

/// Where the time of a step goes: for each baseline a bar of its own and one for every level that is compared with it,
/// divided into the phases of a step (the first view). What runs beside the phases is left out, and what is counted
/// twice makes a bar longer than the step: the note says so.
std::vector<Chart> profileCharts(const plan::Plan& plan, const std::vector<analysis::Attribution>& all);

}  // namespace expc::report
