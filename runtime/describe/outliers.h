#pragma once

// Outliers: values that lie far apart from the others of their point. None is dropped.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

/// A value beyond Tukey's outer fences of its point.
struct Outlier {
  std::string metric, point;
  int64_t trial = 0, block = 0;
  double value = 0, median = 0;
};

/// The metric's outliers, by trial.
std::vector<Outlier> outliersOf(const judge::Index& index, const Metric& metric);

}  // namespace expc::describe
