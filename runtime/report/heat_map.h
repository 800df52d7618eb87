#pragma once

// A wide grid of two factors as colours: where lines would lie on top of each other.

#include "runtime/report/chart_axes.h"
#include "runtime/report/grid.h"

namespace expc::report {

/// The Vega-Lite specification of a grid's estimates, `cells` as charts have them: places across, columns up. Ratios
/// have two hues, away from 1. `columns` says what the fields are called in a table.
llvm::json::Object heatMap(const FactorAxis& x, const ValueAxis& value, const Grid& grid, llvm::json::Array cells,
                           llvm::json::Array columns);

}  // namespace expc::report
