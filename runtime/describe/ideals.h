#pragma once

// The values that a metric would have if devices lost nothing to each other, as comparisons with an ideal say them.

#include <map>
#include <string>

#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

struct Ideals {
  std::string over;                  // the factor that the comparison goes over; "" without a comparison that says any
  std::map<std::string, double> at;  // by the point's id
};

/// The ideals of a metric by the first comparison that has some: the baseline's median times the comparison's own
/// ideal, and at the baseline its median.
Ideals idealsOf(const Plan& plan, const Judgement& judgement, const Metric& metric);

}  // namespace expc::describe
