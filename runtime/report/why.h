#pragma once

// Why things are as they are, in words: the reasons that are codes below, and the lines that explain verdicts, which
// users read first. Each stands alone, with numbers and units.

#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"

namespace expc::report {

struct Words {
  std::string text;
  std::string cause = "";  // what `text` ends with, behind ": ", and other places may share: what a program said
};
Words inWords(const plan::Plan& plan, const plan::Why& why);

/// "all 4 cells are >= 1.2x: the smallest is 1.52x [1.48x, 1.57x]".
std::string whyText(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CriterionResult& result);
/// Of one of its cells: "" of one that passes, else e.g. "1.18x [1.10x, 1.25x] does not decide >= 1.2x".
Words whyText(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell);

/// The line of a criterion that claims that its points run out of memory.
std::string memoryText(const plan::Plan& plan, const plan::Criterion& criterion,
                       const analysis::CriterionResult& result);

/// "step_time was read as 2 different values, so the interval reaches by a step of 10.0 ms to each side".
std::string stepsText(const plan::Plan& plan, const plan::Cell& cell, const analysis::ClockSteps& steps);

/// "step_time of precision=fp64 (control twice), run twice in each block, agrees with itself to 1.0 % (1.00x [0.99x,
/// 1.01x]), where 5.0 % is asked, half of the 10.0 % that are claimed at least".
std::string whyText(const plan::Plan& plan, const analysis::ControlResult& control);
std::string whyText(const plan::Plan& plan, const analysis::Distrust& distrust);

}  // namespace expc::report
