#pragma once

// Charts: Vega-Lite specifications of grids, series, pairs of metrics and profiles, and small SVG drawings for rows of
// tables. How a kind of chart looks is a file (assets/*.vl.json) with holes; the functions here make the rows and the
// settings that fill these. Colours belong to levels, so that a level looks the same in every chart of a page.

#include <llvm/Support/JSON.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/describe/attribution.h"
#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/grid.h"
#include "runtime/stats/interval.h"

namespace expc::report {

/// One chart of a thing that may need several.
struct Chart {
  std::string caption;  // the facet: "layout=nhwc"; "" if there is one chart
  json::Object specification;
  std::string name = {};  // on the page: "gain over gpus by precision at layout=nhwc"
};

/// The most charts of one thing. `left_out` of the functions below counts what is not drawn.
inline constexpr size_t kMaxCharts = 12;

/// Draws the estimates of a grid with their intervals and the values of single blocks: one chart for each combination
/// of the factors other than x (the last row factor) and colour (the column factor), all on one scale. Empty if no
/// estimate is finite, or x has more places than can be told apart.
std::vector<Chart> charts(const Plan& plan, const Grid& grid, size_t& left_out);

/// Whether the grid's charts are heat maps, which show estimates alone: there are more columns than colours.
bool areHeatMaps(const Grid& grid);

/// Draws a series over its places (`plot loss over epoch by method`): the median of the runs at each place, in a band
/// that is its interval if all places have one, else from the lowest to the highest run. Colours are levels of the
/// plot's first `by`; further factors that vary make separate charts on one scale.
std::vector<Chart> curveCharts(const Plan& plan, const std::vector<describe::Curve>& curves, const plan::Plot& plot,
                               size_t& left_out);

/// Draws one metric against another (`plot accuracy over step_time by precision`): each point at its medians, with
/// their intervals. Colours are levels of the plot's first `by`, shapes of its second. Points that none beats in both
/// metrics are joined. One chart, or none if no point has both metrics.
std::vector<Chart> scatterCharts(const Plan& plan, const Conclusions& judgement, const plan::Plot& plot,
                                 size_t& left_out);

/// Draws where the time of a step goes: for each baseline a bar, and one for every level that is compared with it,
/// divided into the phases of a step (the first view). Time beside the phases is left out; time that is counted twice
/// makes a bar longer than the step, which a note says.
std::vector<Chart> profileCharts(const Plan& plan, const std::vector<describe::Attribution>& all);

/// Estimates and intervals of cells on one scale, as small SVG drawings inside table rows, which need no script and
/// print well.
struct Forest {
  std::vector<std::string> rows;  // of each cell; empty: there is nothing to draw
  std::string axis;               // the scale's ticks, for the table's last row
};
/// Draws a row for each cell. The scale spans every finite number of `cells` and the bound's ends; it is logarithmic if
/// `ratio` and all of them are positive. `bound` (of a criterion) shades the side that satisfies it; `neutral` draws a
/// dashed line.
Forest forest(const std::vector<GridCell>& cells, const std::optional<plan::Bound>& bound,
              std::optional<double> neutral, bool ratio);

// ---- axes and colours that several kinds of charts share

/// The range of finite values that an axis must hold; values that are not finite or absent are ignored.
struct Extent {
  double low = INFINITY, high = -low;
  double least = low;  // the lowest value that is no end of an interval
  void add(std::optional<double> value);
  void add(const std::optional<stats::Interval>& interval);
  /// Adds the estimate, its interval and the single values.
  void add(const GridCell& cell);
  bool empty() const { return low > high; }
};

/// Adds the ends of a finite interval, times `factor`, as members `low` and `high` of `row`; false if the interval is
/// absent or not finite.
bool addEnds(json::Object& row, const std::string& low, const std::string& high,
             const std::optional<stats::Interval>& interval, double factor);

/// An axis of measured values.
struct ValueAxis {
  double factor = 1;  // values times this are in the axis's unit
  /// For holes: `subject`, `unit` (" (ms)" or ""), `title` ("step_time (ms)"), `scale`, `domain` and `nice`, the
  /// `extent` that must be drawn, `neutral`, and on a logarithmic axis `cut` if intervals go beyond its end, and
  /// `ticks` and their text if it has little more than a decade.
  json::Object settings = {};
};
/// Returns the axis for values within `extent`, in a unit that suits the largest. It is logarithmic for ratios and for
/// values above zero that spread widely; an interval that reaches zero ends with the axis there. `neutral` of a
/// comparison lies on the axis, too.
ValueAxis valueAxis(const std::string& subject, const std::string& unit, const std::string& dimension, Extent extent,
                    std::optional<double> neutral = std::nullopt);

/// The levels of a factor along an axis: words at equal distances, numbers where they lie, on a logarithmic axis if
/// that spaces them more evenly (1, 2, 4, 8; 0, 1, 10, 1000). Ticks are the levels as the study wrote them.
struct FactorAxis {
  std::map<std::string, double> places;  // of each label; empty: at equal distances
  double narrowest = 0;                  // the smallest distance of neighbouring places, as a share of the axis
  /// For holes: `factor`, `title`, `levels`, and `numbers`, which says that lines between them mean something. Where
  /// levels lie at numbers their `places`, the `ends` of these, `scale`, and on a logarithmic axis with 0 or less on it
  /// `linear_to`: as far as this from 0 it is not logarithmic.
  json::Object settings = {};
};
/// `shown` are indices of levels, or plan::kInactive; of no factor ("") there is one.
FactorAxis factorAxis(const Plan& plan, const std::string& factor, const std::set<unsigned>& shown);

/// Colours that can be told apart in one chart.
inline constexpr size_t kColours = 8;
/// Returns the colour of a level by its index, the same in every chart of a page.
const char* colourOf(size_t level);
/// Returns the settings of colours and shapes: `factor`, its `levels` in order, and their `colours` and `shapes`.
json::Object seriesOf(const Plan& plan, const std::string& factor, const std::set<unsigned>& shown);

}  // namespace expc::report
