#pragma once

// A metric or comparison laid out by factors: what a `table` line of a study asks for, and what charts are drawn from.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/analysis/format.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/store/records.h"

namespace expc::report {

/// One value with what it rests on.
struct GridCell {
  std::optional<double> estimate;
  std::optional<stats::Interval> interval;
  unsigned n = 0;         // values, or complete pairs
  unsigned timeouts = 0;  // of n: worse than every value, so estimate and ends may be infinite
  bool constant = false;
  std::vector<double> values;  // by block
  std::vector<unsigned> outliers;
  std::string note;  // why there is no estimate (an interval may still be there): "not run", "failed", "not on this
                     // device"; else ""
  std::optional<double> published = std::nullopt;  // by a reference: shown beside, not judged
  unsigned never = 0;                              // of n: a series that never got there
  unsigned diverged = 0;                           // trials, or pairs, whose value is not finite
  double limit = 0;                                // seconds that the timeouts met at most
  unsigned out_of_memory = 0;                      // blocks beside these values in which the point ran out of memory
  std::optional<double> ideal = std::nullopt;      // what devices that lose nothing to each other would give
  double trend = 0;                                // Kendall's tau, where it leaves no interval
  double beside = 0;                               // the largest magnitude in its table, which decides the unit
};

struct Grid {
  std::string subject;
  std::string text;  // of a comparison: its definition
  std::string unit, dimension;
  bool comparison = false;
  std::optional<double> neutral;  // of a comparison: 1 for ratios, 0 for differences
  std::string ideal_over;         // the factor over which the cells' `ideal` makes a line; "" if there is none
  std::vector<std::string> row_factors;
  std::string column_factor;  // "" if there is a single column
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> columns;
  /// Indices of the levels that `rows` and, where there is a column factor, `columns` name.
  std::vector<std::vector<unsigned>> row_levels;
  std::vector<unsigned> column_levels;
  std::vector<std::vector<GridCell>>
      cells;  // [row][column]; a cell that the grid does not have is empty, without a note
};

/// `subject` by the factors `by`: the last one makes the columns, the others the rows. Factors of the subject that `by`
/// does not name but that vary come first in the rows, so no two values fall into one cell. An unknown subject gives a
/// grid without rows.
Grid buildGrid(const plan::Plan& plan, const analysis::Judgement& judgement, const std::string& subject,
               const std::vector<std::string>& by);

/// The tables of a study that has neither tables nor plots: each metric that it is about, over all factors that vary.
std::vector<plan::Table> defaultTables(const plan::Plan& plan);

/// The estimate and its interval ("constant" where no value ever varied) in one unit, with the same digits; "" for what
/// there is not. `bounds`: what they must not be confused with.
analysis::EstimateText partsOf(const GridCell& cell, const std::string& unit, const std::string& dimension,
                               std::span<const double> bounds = {});

/// The value with its interval or n, what else became of the point's trials, and what is published, below it: "12.3 ms"
/// and "[12.1 ms, 12.6 ms]", "64.0 MiB" and "constant, n=7", "97.2 %" and "n=1", "not run".
Cell valueCell(const GridCell& cell, const std::string& unit, const std::string& dimension);

/// A metric at a point.
GridCell metricCell(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Point& point,
                    const plan::Metric& metric);

/// "(published 11.8 ms)", or "".
std::string publishedText(const GridCell& cell, const std::string& unit, const std::string& dimension);

/// The value of one cell of a comparison or criterion, with what is published for it; `beside` as in GridCell.
GridCell gridCell(const plan::Plan& plan, const plan::Cell& planned, const analysis::CellEstimate& estimate,
                  double beside = 0);
/// The largest magnitude among estimates.
double largestOf(const std::vector<analysis::CellEstimate>& estimates);

}  // namespace expc::report
