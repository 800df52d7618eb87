#pragma once

// The values of a point, as descriptions read them.

#include <vector>

#include "runtime/judge/readings.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

std::vector<double> plain(const std::vector<judge::PointValue>& values);
/// Whether `a` is better than `b`; the metric says what is better.
bool better(const Metric& metric, double a, double b);

}  // namespace expc::describe
