#pragma once

// Estimates and intervals of many cells on one scale, as small SVG drawings inside table rows. They need no script and
// print.

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/report/grid.h"

namespace expc::report {

class Forest {
 public:
  /// The scale spans every finite number of `cells` and the bound's ends; it is logarithmic if `ratio` and all of them
  /// are positive. `bound` (of a criterion) shades the side that satisfies it; `neutral` draws a dashed line.
  Forest(const std::vector<GridCell>& cells, std::optional<plan::Bound> bound, std::optional<double> neutral,
         bool ratio, std::string unit, std::string dimension);

  /// Whether there is anything to draw.
  bool empty() const { return empty_; }
  std::string row(const GridCell& cell) const;
  /// The scale's ticks, for the table's last row.
  std::string axis() const;

 private:
  double at(double value) const;  // value to x, clamped to the drawing
  std::string marks() const;      // bound and neutral line, the same in every row

  std::optional<plan::Bound> bound_;
  std::optional<double> neutral_;
  std::string unit_, dimension_;
  bool empty_ = true, log_ = false;
  double low_ = 0, high_ = 1;
};

}  // namespace expc::report
