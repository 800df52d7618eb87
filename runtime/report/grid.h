#pragma once

// A grid: one metric or comparison laid out by factors, rows by columns. Tables in all media and most charts are made
// from grids, so that a `table` line of a study and the plot beside it cannot show different numbers.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/numbers.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/report/paint.h"
#include "runtime/store/records.h"

namespace expc::report {

/// One value of a grid with everything that is shown beside it.
struct GridCell {
  std::optional<double> estimate;
  std::optional<stats::Interval> interval;
  /// Values, or complete pairs.
  unsigned n = 0;
  /// Timeouts among these. They rank below every value, so the estimate and ends of the interval may be infinite.
  unsigned timeouts = 0;
  /// Whether no value ever varied, so that "constant" stands in place of the interval.
  bool constant = false;
  /// The values, one for each block, and the numbers of those that lie far from the others.
  std::vector<double> values;
  std::vector<unsigned> outliers;
  std::string note;  // why there is no estimate (an interval may still be there): "not run", "failed", "not on this
                     // device"; else ""
  /// The value that a reference publishes: shown beside the estimate and not judged.
  std::optional<double> published = std::nullopt;
  /// Values among n of a series that never reached its bound.
  unsigned never = 0;
  /// Trials, or pairs, whose value is not finite.
  unsigned diverged = 0;
  /// The longest time limit that the timeouts met, in seconds.
  double limit = 0;
  /// Blocks, beside these values, in which the point ran out of memory.
  unsigned out_of_memory = 0;
  /// The value that devices would give if they lost nothing to each other.
  std::optional<double> ideal = std::nullopt;
  /// Kendall's tau of values that rise or fall all the time, which leaves no interval; else 0.
  double trend = 0;
  /// The correlation of a value with the one before that the interval allows for.
  double correlation = 0;
  /// The estimate's unit and dimension, which the plan owns.
  std::string_view unit = {}, dimension = {};
  /// The unit and digits that values of one table share.
  base::ColumnStyle column = {};
};

/// A metric or comparison by factors.
struct Grid {
  std::string subject;
  /// The definition of a comparison.
  std::string text;
  std::string unit, dimension;
  bool comparison = false;
  /// The value at which a comparison finds no difference: 1 for ratios, 0 for differences.
  std::optional<double> neutral;
  /// The factor over which the cells' `ideal` makes a line; "" if there is none.
  std::string ideal_over;
  std::vector<std::string> row_factors;
  /// The factor of the columns; "" if there is a single column.
  std::string column_factor;
  /// The levels of each row, one for each of `row_factors`; the level of each column.
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> columns;
  /// Indices of the levels that `rows` and, where there is a column factor, `columns` name.
  std::vector<std::vector<unsigned>> row_levels;
  std::vector<unsigned> column_levels;
  std::vector<std::vector<GridCell>>
      cells;  // [row][column]; a cell that the grid does not have is empty, without a note
};

/// Lays `subject` out by the factors `by`: the last one makes the columns, the others the rows. Factors that vary and
/// are not in `by` come first in the rows, so that no two values fall into one cell. An unknown subject gives a grid
/// without rows.
Grid buildGrid(const Plan& plan, const Judgement& judgement, const std::string& subject,
               const std::vector<std::string>& by);

/// Returns the tables for a study that has neither tables nor plots: each metric that it is about, over all factors
/// that vary.
std::vector<plan::Table> defaultTables(const Plan& plan);

/// Formats the estimate and its interval ("constant" if no value ever varied) in one unit with the same digits; "" for
/// what is missing. Digits suffice to tell them from `bounds`.
EstimateText partsOf(const GridCell& cell, const Bounds& bounds = {});

/// Formats a value with its interval or n below it, other outcomes of the point's trials, and the published value:
/// "12.3 ms" and "[12.1 ms, 12.6 ms]", "64.0 MiB" and "constant, n=7", "97.2 %" and "n=1", "not run".
Cell valueCell(const GridCell& cell);

/// Returns the value of a metric at a point.
GridCell metricCell(const Plan& plan, const Judgement& judgement, const Point& point, const Metric& metric);

/// Returns the values of a metric at the first `most` points, in one unit and precision.
std::vector<GridCell> metricColumn(const Plan& plan, const Judgement& judgement, const Metric& metric, size_t most);

/// Returns "(published 11.8 ms)", or "".
std::string publishedText(const GridCell& cell);

/// Returns the value of one cell of a comparison or criterion, with what is published for it. The plan owns `unit`.
GridCell gridCell(const Plan& plan, const plan::Cell& planned, const CellEstimate& estimate, const std::string& unit);
/// Gives cells of one table, which have one unit, one unit of display and one number of decimals.
void alignCells(std::vector<GridCell>& cells, const Bounds& bounds = {});
/// Returns the smallest and the largest of a few values, for which there is no interval: "1.20x to 1.31x"; "" for
/// others.
std::string rangeText(const GridCell& cell, const Bounds& bounds = {});

}  // namespace expc::report
