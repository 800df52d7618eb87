#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace expc::report {

struct PlanExtras {
  unsigned width = 100;           // columns of the terminal; lines stay within it where words allow
  bool colour = false;            // ANSI
  bool all_points = false;        // else the first of more than 40 are shown, and how many more
  std::optional<double> seconds;  // estimate for all trials, from stored ones
  double noise = 0.01;            // coefficient of variation of one run, for the expected resolution
};

/// The plan for a reader: factors, points, what rules removed and why, trials, criteria with their domain and
/// resolution.
std::string planText(const plan::Plan& plan, const PlanExtras& extras);

/// The plan as JSON lines: a header ("expc.plan-lines/2", with counts, factors, rules, criteria, design), then a line
/// for each point with its labels and parameters.
std::string planJsonLines(const plan::Plan& plan);

}  // namespace expc::report
