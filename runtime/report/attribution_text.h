#pragma once

// Words for attributions that terminal and page share.

#include <string>

#include "runtime/analysis/attribution.h"
#include "runtime/plan/plan.h"

namespace expc::report {

/// "precision=fp32 against fp64, gpus=1": the levels that differ, then those that are the same.
std::string pairText(const plan::Plan& plan, const analysis::Attribution& attribution);

/// "a step takes 12.3 ms against 20.1 ms (-7.8 ms); means of 3 profile trials of each".
std::string stepText(const analysis::Attribution& attribution);

/// "backward", "all_reduce, beside these".
std::string categoryText(const analysis::CategoryShare& category);

/// "+1.2 ms", "-310 us", "0 s".
std::string differenceText(double seconds);

/// "62 %", or "" without a share.
std::string shareText(const analysis::CategoryShare& category);

}  // namespace expc::report
