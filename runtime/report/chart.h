#pragma once

// Results as drawings: as Vega-Lite specifications, of which it is in a file (assets/*.vl.json) how each kind looks,
// and here are the rows and the settings that go into it; and as SVG.

#include <llvm/Support/JSON.h>

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/description.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/grid.h"
#include "runtime/stats/interval.h"

namespace expc::report {

struct Chart {
  std::string caption;  // the facet: "layout=nhwc"; "" if there is one chart
  llvm::json::Object specification;
  std::string name = {};  // on the page: "gain over gpus by precision at layout=nhwc"
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

/// Estimates and intervals of cells on one scale, as small SVG drawings inside table rows. They need no script and
/// print.
struct Forest {
  std::vector<std::string> rows;  // of each cell; empty: there is nothing to draw
  std::string axis;               // the scale's ticks, for the table's last row
};
/// The scale spans every finite number of `cells` and the bound's ends; it is logarithmic if `ratio` and all of them
/// are positive. `bound` (of a criterion) shades the side that satisfies it; `neutral` draws a dashed line.
Forest forest(const std::vector<GridCell>& cells, const std::optional<plan::Bound>& bound,
              std::optional<double> neutral, bool ratio, const std::string& unit, const std::string& dimension);

// What several kinds of charts say of their axes, and of the levels that they draw in colours.

/// The finite values that an axis must hold.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(std::optional<double> value);
  void add(const std::optional<stats::Interval>& interval);
  /// Everything that was measured.
  void add(const GridCell& cell);
  bool empty() const { return low > high; }
};

/// Adds the ends of a finite interval times `factor`, and says whether it did.
bool addEnds(llvm::json::Object& row, const std::string& low, const std::string& high,
             const std::optional<stats::Interval>& interval, double factor);

/// An axis of measured values.
struct ValueAxis {
  double factor = 1;  // values times this are in the axis's unit
  /// For holes: `subject`, `unit` (" (ms)" or ""), `title` ("step_time (ms)"), `scale`, `domain` and `nice`, the
  /// `extent` that must be drawn, `neutral`, and on a logarithmic axis of little more than a decade `ticks` and their
  /// text.
  llvm::json::Object settings = {};
};
/// Comparisons by ratios, and values that spread widely, get a logarithmic axis. `neutral`, of a comparison, belongs to
/// the axis.
ValueAxis valueAxis(const std::string& subject, const std::string& unit, const std::string& dimension, Extent extent,
                    std::optional<double> neutral = std::nullopt);

/// The levels of a factor along an axis: words at equal distances; numbers where they lie, on a logarithmic axis where
/// they are more even there (1, 2, 4, 8; 0, 1, 10, 1000). Ticks are the levels as the study wrote them.
struct FactorAxis {
  std::map<std::string, double> places;  // of each label; empty: at equal distances
  double narrowest = 0;                  // the smallest distance of neighbouring places, as a share of the axis
  /// For holes: `factor`, `title`, `levels`, and `numbers`, which says that lines between them mean something. Where
  /// levels lie at numbers their `places`, the `ends` of these, `scale`, and on a logarithmic axis with 0 or less on it
  /// `linear_to`: as far as this from 0 it is not logarithmic.
  llvm::json::Object settings = {};
};
/// `shown` are indices of levels, or plan::kInactive; of no factor ("") there is one.
FactorAxis factorAxis(const plan::Plan& plan, const std::string& factor, const std::set<unsigned>& shown);

inline constexpr size_t kColours = 8;
/// Of a level by its index: the same in every chart of a page.
const char* colourOf(size_t level);
/// For holes: `factor`, its `levels` in order, and the `colours` and `shapes` of these.
llvm::json::Object seriesOf(const plan::Plan& plan, const std::string& factor, const std::set<unsigned>& shown);

}  // namespace expc::report
