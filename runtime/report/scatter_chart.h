#pragma once

// One metric against another (`plot accuracy over step_time by precision`) as a Vega-Lite specification.

#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/analysis/ranking.h"
#include "runtime/report/chart.h"

namespace expc::report {

/// Each point with its medians and their intervals; colours are levels of the plot's first `by`, shapes of its second.
/// Points that none beats in both metrics are joined. One chart, or none where no point has both metrics. `left_out`
/// counts the points that are not drawn.
std::vector<Chart> scatterCharts(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Plot& plot,
                                 size_t& left_out);

}  // namespace expc::report
