#pragma once

// Points in the order of a metric, with ties, and those that no other beats in two metrics at once: descriptions. They
// judge nothing.

#include <string>
#include <vector>

#include "runtime/analysis/index.h"

namespace expc::analysis {

struct Ranked {
  std::string point;  // its id
  unsigned rank = 1;  // from 1, the best; of several that tie the same
  double median = 0;
  unsigned n = 0;
};

/// The points at which the metric, which says what is better, was measured: the best first. A point ties with the first
/// of its rank where the 95 % interval (signed rank) of their differences in the same blocks includes zero, or there
/// are fewer than six such blocks and the values overlap. Each is compared with one other at its own 95 %, so of many
/// ranks some are chance.
std::vector<Ranked> rank(const Index& index, const plan::Metric& metric);

/// A point and its medians.
struct FrontPoint {
  std::string point;
  double first = 0, second = 0;
};

/// Of two metrics that say what is better: the points that no other equals or beats in both metrics, and beats in one,
/// by medians: the best in `first` first.
struct Front {
  std::string first, second;
  std::vector<FrontPoint> points;
  size_t beaten = 0;  // points that were measured and are not in it

  /// Whether it is what a table of the plan asks for.
  bool isOf(const plan::Table& table) const { return first == table.subject && second == table.other; }
};
Front paretoFront(const Index& index, const plan::Metric& first, const plan::Metric& second);

}  // namespace expc::analysis
