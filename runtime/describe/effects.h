#pragma once

// Effects: the influence of each factor on a metric over a whole grid, and its share of the variation.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"
#include "runtime/stats/interval.h"

namespace expc::describe {

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
std::optional<Effects> effectsOn(const judge::Index& index, const Metric& metric);

}  // namespace expc::describe
