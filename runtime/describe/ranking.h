#pragma once

// Ranking: points in the order of a metric, with ties.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

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
std::vector<Ranked> rank(const judge::Index& index, const Metric& metric);

/// The fewest blocks that can tell any of so many points apart.
unsigned rankBlocks(size_t points);

struct Ranking {
  std::string metric;
  std::vector<Ranked> points;
};

}  // namespace expc::describe
