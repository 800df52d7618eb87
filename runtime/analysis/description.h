#pragma once

// Describes a study's results beside its verdicts. Nothing here judges, and no value is dropped.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/index.h"
#include "runtime/stats/interval.h"

namespace expc::analysis {

// Effects: what each factor does to a metric over a whole grid, and how much of the variation is its own.

/// A level of a factor, or a pair of levels of two.
struct LevelEffect {
  std::vector<std::string> labels;          // one for each factor of the effect
  double ratio = 1;                         // geometric mean there, over what the grid and lesser effects give
  std::optional<stats::Interval> interval;  // of the ratio, over blocks at 95 %; absent: fewer than six
};

/// The effect of one factor, or of two beyond their separate effects.
struct FactorEffect {
  std::vector<std::string> factors;
  std::vector<LevelEffect> levels;
  double share = 0;  // of the variation: sum of squares of logarithms
};

/// A complete grid: every combination of these levels was measured in the same blocks.
struct Effects {
  std::string metric;
  std::vector<std::pair<std::string, std::vector<std::string>>> grid;  // factors with the labels that are in it
  size_t points = 0, left_out = 0;                                     // measured points in it, and outside of it
  unsigned blocks = 0;
  double mean = 0;                    // geometric, in the metric's unit
  std::vector<FactorEffect> effects;  // single factors first, each kind with the largest share first
  double higher = 0;                  // shares: interactions of three factors and more,
  double between_blocks = 0;          // what blocks differ by,
  double error = 0;                   // and what is left. All shares add up to 1.
};

/// The effects of the factors on the logarithm of a metric, in the largest complete sub-grid of what was measured
/// (found by branch and bound; of very large grids the largest that was found). Sum-to-zero contrasts of a balanced
/// design: each effect is a mean less lesser means, and shares are sums of squares over their total (Jain 1991, §22;
/// Montgomery, §5). Absent where fewer than two points can be compared, no factor varies, or a value is not above zero.
std::optional<Effects> effectsOn(const Index& index, const plan::Metric& metric);

// Ranking: points in the order of a metric, with ties, and those that no other beats in two metrics at once.

struct Ranked {
  std::string point;             // its id
  std::optional<unsigned> rank;  // from 1, the best; of several that tie the same; absent: too few blocks for ranks
  double median = 0;
  unsigned n = 0;
};

/// The points at which the metric, which says what is better, was measured: the best first. A point ties with the first
/// of its rank where the interval (signed rank) of their differences in the same blocks includes zero, or there are too
/// few such blocks for one. Intervals are at 95 % over all pairs of points (Bonferroni), so points that do not differ
/// are told apart in 5 % of all rankings. Values of an exact metric are compared as they are. Without ranks where no
/// point has rankBlocks() values.
std::vector<Ranked> rank(const Index& index, const plan::Metric& metric);

/// The fewest blocks that can tell any of so many points apart.
unsigned rankBlocks(size_t points);

/// A point and its medians.
struct FrontPoint {
  std::string point;
  double first = 0, second = 0;
};

/// The Pareto front of two metrics that say what is better: points that no other equals or beats in both metrics, and
/// beats in one, by medians. The best in `first` comes first.
struct Front {
  std::string first, second;
  std::vector<FrontPoint> points;
  size_t beaten = 0;  // points that were measured and are not in it

  /// Whether it is what a table of the plan asks for.
  bool isOf(const plan::Table& table) const { return first == table.subject && second == table.other; }
};
Front paretoFront(const Index& index, const plan::Metric& first, const plan::Metric& second);

// Drift: how a metric went over the run, and values that lie apart: what to look at before a number is believed.

/// A drift that blocks share, in the order they ran. Pairs cancel it; values of single points show it.
struct Drift {
  std::string metric;
  unsigned blocks = 0;  // in which every point that was measured has a value
  double last = 1;      // what the last block is over the first by the trend: its median slope (Theil 1950, Sen 1968)
  double p = 1;         // of a trend (Mann 1945, Kendall 1975, normal approximation)
  // Both of the means of groups of consecutive blocks where there are more than a thousand of them.
  std::optional<double> first;  // the first block over the median of the others, where it lies outside of all of them
                                // by three times their spread: a warm-up
};

/// Absent for fewer than four blocks, and where a value is not above zero.
std::optional<Drift> driftOf(const Index& index, const plan::Metric& metric);

/// The p-value up to which a trend is told.
inline constexpr double kTrend = 0.01;

/// A value beyond Tukey's outer fences of its point.
struct Outlier {
  std::string metric, point;
  int64_t trial = 0, block = 0;
  double value = 0, median = 0;
};

/// The metric's outliers, by trial.
std::vector<Outlier> outliersOf(const Index& index, const plan::Metric& metric);

// Curves: how a series goes on over its places (epochs, or steps that were logged).

/// The runs' values at one place of their series.
struct CurvePlace {
  unsigned place = 1;  // from 1
  unsigned n = 0;      // runs whose series go as far; at least 1
  double median = 0, minimum = 0, maximum = 0;
  std::optional<stats::Interval> interval;  // of the median, at kConfidence; absent: too few runs
};

/// The runs of one point. Where their series differ in length the later places have fewer runs.
struct Curve {
  std::string point, metric;
  std::vector<CurvePlace> places;
};

/// More places than this are thinned out, evenly and with both ends, so that a long log stays a picture.
inline constexpr size_t kMostCurvePlaces = 200;

/// The curves of a series at all points where it was measured, in the plan's order. Values that are not finite are left
/// out.
std::vector<Curve> curvesOf(const Index& index, const plan::Metric& metric);

// All of it.

/// The metrics that the study's comparisons, criteria, tables and plots are about, in the order of the plan's metrics:
/// of what else was measured a description would only be long.
std::vector<std::string> mentionedMetrics(const plan::Plan& plan);

struct Ranking {
  std::string metric;
  std::vector<Ranked> points;
};

struct Description {
  std::vector<Effects> effects;   // of metrics over grids of two factors and more: of one, comparisons say it
  std::vector<Ranking> rankings;  // of three points and more, where blocks tell some apart
  std::vector<Front>
      fronts;  // of the first metric with each other one, where some points are beaten and several are not
  std::vector<Front> plotted;  // of each plot of one metric over another: over, then subject
  std::vector<Curve> curves;   // of the series that plots draw over their places
  std::vector<Drift> drifts;   // with a warm-up or a trend
  std::vector<Outlier> outliers;
};

/// Describes the metrics that the study is about.
Description describe(const Index& index);

}  // namespace expc::analysis
