#pragma once

// Words for what the results state in codes: the reasons of plan::Reason, and what controls and clocks show. Each text
// stands alone, with numbers and units. Results keep codes, so that their JSON and stored forms do not change with the
// wording; only this room turns them into sentences. Sentences about whole verdicts are left to verdict_text.h.

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"

namespace expc::report {

/// Whether each text stands at the index of its code, and none is missing.
template <typename Code, size_t N>
constexpr bool standAtTheirCodes(const std::pair<Code, std::string_view> (&texts)[N], Code last) {
  for (size_t i = 0; i < N; ++i)
    if (texts[i].first != Code(i)) return false;
  return N == size_t(last) + 1;
}

/// A reason in words.
struct Words {
  /// The whole reason: "CASE: CAUSE", or what has no cause.
  std::string text;
  /// The end of `text` behind ": ": what a program said. Other places may share it, so that it need not be repeated
  /// (saidOnce).
  std::string cause = "";
  /// CASE
  std::string head = "";
  /// The steps of a clock that `text` explains.
  std::optional<judge::ClockSteps> steps = std::nullopt;
};
/// Returns a reason in words; empty without a reason. The point in it is named as the plan names it.
Words inWords(const Plan& plan, const plan::Why& why);

/// Whether the output of a command has no row of the reason's point, so that only the program or the study can mend it.
bool lacksRow(const Plan& plan, const plan::Why& why);

/// Follows a verdict on a single block: one trial shows that it can happen.
inline constexpr std::string_view kOneBlock = " (one trial: it can happen; whether it always does is open)";

/// Says why a clock widens an interval: "step_time was read as 2 different values, so the interval reaches by a step of
/// 10.0 ms to each side".
std::string stepsText(const Plan& plan, const plan::Cell& cell, const judge::ClockSteps& steps);

/// Says what a control shows: "step_time of precision=fp64 (control twice), run twice in each block: the later run
/// agrees with the earlier (1.00x [0.99x, 1.01x]), by less than 5.0 %, half of the 10.0 % that are claimed at least".
/// The second form holds it to the gap that a verdict claims.
std::string whyText(const Plan& plan, const judge::ControlResult& control);
std::string whyText(const Plan& plan, const judge::Distrust& distrust);

/// Says before a run what a control will show: "control twice shows a difference of 2.5 %, half of what this claims, in
/// 41 % of studies with 12 blocks at 3 % noise; it needs about 26 blocks for 80 %". `noise` is the coefficient of
/// variation of one trial. "" for a criterion that holds no control to a gap.
std::string controlNeedText(const Plan& plan, const Criterion& criterion, double noise);

/// Formats a share in per cent with two digits: "5.2 %", "0.18 %".
std::string twoDigits(double share);

}  // namespace expc::report
