#pragma once

// Fronts: points that no other beats in two metrics at once.

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

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
Front paretoFront(const judge::Index& index, const Metric& first, const Metric& second);

}  // namespace expc::describe
