#pragma once

// Words for what the results state in codes: the reasons of plan::Reason, and what controls and clocks show. Each text
// stands alone, with numbers and units. Sentences about whole verdicts are left to verdict_text.h.

#include <string>
#include <string_view>

#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"

namespace expc::report {

struct Words {
  std::string text;
  std::string cause = "";  // what `text` ends with, behind ": ", and other places may share: what a program said
};
Words inWords(const plan::Plan& plan, const plan::Why& why);

/// Follows a verdict on a single block: one trial shows that it can happen.
inline constexpr std::string_view kOneBlock =
    " (one trial, which shows that it can happen and not that it always does)";

/// "step_time was read as 2 different values, so the interval reaches by a step of 10.0 ms to each side".
std::string stepsText(const plan::Plan& plan, const plan::Cell& cell, const analysis::ClockSteps& steps);

/// "step_time of precision=fp64 (control twice), run twice in each block: the later run agrees with the earlier (1.00x
/// [0.99x, 1.01x]), by less than 5.0 %, half of the 10.0 % that are claimed at least".
std::string whyText(const plan::Plan& plan, const analysis::ControlResult& control);
std::string whyText(const plan::Plan& plan, const analysis::Distrust& distrust);

/// Before a run: "control twice shows a difference of 2.5 %, half of what this claims, in 41 % of studies with 12
/// blocks at 3 % noise; it needs about 26 blocks for 80 %". "" of a criterion that holds no control to a gap.
std::string controlNeedText(const plan::Plan& plan, const plan::Criterion& criterion, double noise);

}  // namespace expc::report
