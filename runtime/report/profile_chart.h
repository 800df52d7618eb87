#pragma once

// Where the time of a step goes, as stacked bars by level, as a Vega-Lite specification.

#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/report/chart.h"

namespace expc::report {

/// For each baseline a bar of its own and one for every level that is compared with it, divided into the phases of a
/// step (the first view). What runs beside the phases is left out, and what is counted twice makes a bar longer than
/// the step: the note says so. At most kMaxCharts.
std::vector<Chart> profileCharts(const plan::Plan& plan, const std::vector<analysis::Attribution>& all);

}  // namespace expc::report
