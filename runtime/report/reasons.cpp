
#include "runtime/report/reasons.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/index.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/paint.h"
#include "runtime/stats/design.h"
#include "runtime/stats/distributions.h"

namespace expc::report {
namespace {

using plan::Reason;

/// Text of each code, in the order of the codes. Placeholders: 0 is the point or control, 1 the name, 2 to 4 numbers, 5
/// the cause, 6 the first number with what it counts, 7 how both values ended.
constexpr std::pair<Reason::Code, std::string_view> kTexts[] = {
    {Reason::Said, ""},
    {Reason::NotANumber, "{1} is not a number"},
    {Reason::NoSeries, "{1} is not a series"},
    {Reason::EmptySeries, "{1} is empty"},
    {Reason::SeriesTooShort, "{1} has {2:.0f} values, and skipping leaves none of them"},
    {Reason::NoCommonPlace, "the two series of {1} share no step"},
    {Reason::NoParameter, "{1} has no value here"},
    {Reason::DivisionByZero, "a division by zero"},
    {Reason::NotPositive, "a ratio needs values above 0"},
    {Reason::NeitherReached, "neither run reached the bound, so their ratio is unknown"},
    {Reason::BothWorst, "both {7}, so they cannot be compared"},
    {Reason::NotOnDevice, "{1} is not measured on this device"},
    {Reason::NotInOutput, "{1} has no value in the output"},
    {Reason::NotInTrials, "{1} is missing from the trials"},
    {Reason::NoDirection, "{1} timed out or diverged, and declares neither direction better"},
    {Reason::NotComputed, "{1} cannot be computed: {5}"},
    {Reason::OfPlace, "{5} of {0}"},
    {Reason::NoTrial, "no trial of {0}"},
    {Reason::NotRun, "{0} was not run"},
    {Reason::NotTogether, "{0} never ran in the same block and session, so there is no pair"},
    {Reason::Superseded, "{0} timed out at {2:.6g} s; the limit is longer now, so it will run again"},
    {Reason::NeedsLimit,
     "{0} timed out at {2:.6g} s, and another trial had a longer limit; only a longer --timeout runs it again"},
    {Reason::Failed, "{0} failed"},
    {Reason::Disturbed, "{0} was disturbed"},
    {Reason::RanOut, "{0} ran out of memory"},
    {Reason::RanOutIn, "{0} ran out of memory in {2:.0f} blocks"},
    {Reason::NoBaseline, "no comparison: the baseline {0} ran out of memory in {2:.0f} blocks"},
    {Reason::Unstable, "{0} is unstable: it ran out of memory in {2:.0f} of {3:.0f} blocks"},
    {Reason::Unavailable, "{0} cannot run here"},
    {Reason::ExpectedOut, "{0} was not started: its estimated memory exceeds the device's"},
    {Reason::ExpectedOutOnly, "{0} was not started: its estimated memory exceeds the device's"},
    {Reason::RanWell, "{0} ran well in {2:.0f} of {3:.0f} blocks"},
    {Reason::RanOutInOnlyBlock, "{0} ran out of memory in its only block"},
    {Reason::RanOutTooSeldom, "{0} ran out of memory in {2:.0f} block, {3:.0f} are needed"},
    {Reason::NeitherOutNorWell, "{0} failed for another reason than memory"},
    {Reason::OneExactValue, "an exact metric with one value; two equal values are needed"},
    {Reason::TooFew, "only {6}; a {3:.4g} % interval needs {2:.0f}"},
    {Reason::Trend,
     "cannot be judged: its {3:.0f} values rise or fall over the run (Kendall's tau {2:.2f}), so they have no level"},
    {Reason::SessionsApart,
     "cannot be judged: its {2:.0f} sessions differ; about {3:.0f} sessions would give an interval"},
    {Reason::Unusable, "{6} no value that can be used: {5}"},
    {Reason::NoUsableValue, "no trial has a value that can be used"},
    {Reason::Diverged, "it diverged in every trial"},
    {Reason::NotAsked, "none of its configurations is selected, or can run here"},
    {Reason::OnNullCards, "measured on simulated GPUs, which compute nothing"},
    {Reason::NotOfThesePoints, "it has none of these points"},
    {Reason::NoMatterOfNoise, "out-of-memory claims are not simulated"},
    {Reason::ReadsCourse, "simulation draws only the last value of a series"},
    {Reason::NoTruth, "its value cannot be computed without trials"},
    {Reason::NoSize, "it adds or subtracts metrics, so it needs measured values; `expc run --pilot` measures some"},
    {Reason::StatedNotPositive, "what was stated of it is not above zero, and its values are"}};
static_assert(standAtTheirCodes(kTexts, Reason::StatedNotPositive));

/// Whether the point is a row of what one process prints.
bool isRow(const Plan& plan, const Point& point) {
  const auto& command = plan.workloads[point.workload].command;
  return command && !command->inside.empty();
}

/// The blocks with which a control's interval excludes a difference of `half` in 80 % of studies, if the true
/// difference is `apart`; 0 if none do.
unsigned blocksToExclude(const judge::ControlResult& control, double apart, double half) {
  constexpr double kChance = 0.8, kMost = 100'000;
  const auto& [low, high, confidence] = *control.estimate.interval;
  const double reach =
      (high - low) / 2 * (1 + stats::normalQuantile(kChance) / stats::normalQuantile((1 + confidence) / 2));
  const double blocks = apart < half ? control.estimate.scope.complete * std::pow(reach / (half - apart), 2) : 0;
  return blocks < kMost ? unsigned(std::ceil(blocks)) : 0;
}

/// Describes a control with an interval: its estimate and what it is held to. `gap` is the smallest gap that is
/// claimed, half of which is the limit; 0 if no claim sets one. `claimed` says who claims it.
std::string agreementText(const Plan& plan, const judge::ControlResult& control, double gap, const char* claimed) {
  const Metric& metric = *plan.findMetric(control.metric);
  const stats::Interval& interval = *control.estimate.interval;
  const std::optional<double>& estimate = control.estimate.estimate;
  const std::string unit = control.ratio ? "x" : metric.unit, dimension = control.ratio ? "" : metric.dimension;
  const double neutral = control.ratio ? 1 : 0;
  const plan::Bound band{plan::Relation::Within, neutral - gap / 2, neutral + gap / 2, ""};
  // Two questions: does the control differ from itself at all, and may it differ by more than the limit? An interval
  // that leaves the band without excluding the neutral value is only too wide.
  const bool differs = interval.low > neutral || interval.high < neutral;
  const bool leaves = gap > 0 && !satisfies(band, interval.low, interval.high);
  const auto sizeText = [&](double size) {
    return control.ratio ? formatQuantity(size, "", "share") : formatQuantity(size, unit, dimension);
  };
  const bool alone = control.name == plan::kAlone;
  const std::vector<double> bounds = gap > 0 ? ends(band) : std::vector{neutral};
  const std::string text = fmt::format(
      "{} of {}, {} {} {} ({})", control.metric, judge::placeLabel(plan, plan.findPoint(control.point), control.name),
      alone ? "which ran alone," : "run twice in each block: the later run",
      leaves && differs ? "differs from" : "agrees with", alone ? "the runs in parallel" : "the earlier",
      estimate ? formatEstimate(*estimate, interval, unit, dimension, bounds)
               : formatInterval(interval, unit, dimension, bounds));
  if (gap == 0) return text + "; no criterion defines how much is allowed";
  const std::string half = fmt::format("{}, half of the {} that {}", sizeText(gap / 2), sizeText(gap), claimed);
  if (!leaves) return text + ", by less than " + half;
  const unsigned blocks = blocksToExclude(control, differs && estimate ? std::abs(*estimate - neutral) : 0, gap / 2);
  const std::string about = blocks ? "; about " + counted(blocks, "block") + " would in 80 % of studies" : "";
  if (!differs) return text + ", but so few blocks at this noise do not exclude a difference of " + half + about;
  const bool outside = estimate && !satisfies(band, *estimate, *estimate);
  return text + ", which may be more than " + half +
         (outside ? "; more blocks alone will hardly help: find what a run leaves behind, or claim a larger gap"
                  : about + (about.empty() ? "" : " show that it is less"));
}

}  // namespace

std::string twoDigits(double share) { return fmt::format("{:.2g} %", 100 * share); }

bool lacksRow(const Plan& plan, const plan::Why& why) {
  return why && why->code == Reason::OfPlace && why->point < plan.points.size() &&
         origin(*why).code == Reason::NotInOutput && isRow(plan, plan.points[why->point]);
}

Words inWords(const Plan& plan, const plan::Why& why) {
  if (!why) return {};
  const Reason& reason = *why;
  // Codes carry as many numbers as their text needs; missing ones are 0, which such a text does not print.
  std::vector<double> numbers = reason.numbers;
  numbers.resize(3);
  // A reason may have another one behind it, such as the cause of a value that could not be computed.
  const std::string behind = inWords(plan, reason.because).text;
  const std::string label =
      reason.point < plan.points.size() ? judge::placeLabel(plan, &plan.points[reason.point], reason.control) : "it";
  std::string count;
  if (reason.code == Reason::TooFew || reason.code == Reason::Unusable)
    count = counted(unsigned(numbers[reason.code == Reason::TooFew ? 2 : 0]), reason.pairs ? "pair" : "trial");
  if (reason.code == Reason::Unusable) count += numbers[0] == 1 ? " has" : " have";
  std::string text = fmt::format(fmt::runtime(kTexts[size_t(reason.code)].second), label, reason.name, numbers[0],
                                 numbers[1], numbers[2], behind, count,
                                 numbers[0] == numbers[1] ? "timed out or diverged"
                                 : numbers[0] > 0         ? "timed out"
                                                          : "diverged");
  // Some codes say more than their text has room for.
  if (reason.code == Reason::TooFew && !behind.empty()) text += " (" + behind + ")";
  if (reason.code == Reason::RanOutInOnlyBlock) text += kOneBlock;
  if (lacksRow(plan, why)) text += ": print its row, or leave this level out";
  // A value of 0 is mostly a clock that is too coarse, so say how often it was read and what helps.
  if (reason.code == Reason::NotPositive && numbers[0] > 0)
    text += fmt::format(", and {} of {} is {} in {:.0f} of {}: claim a difference, or read it with a finer clock",
                        reason.name, label, numbers[2] > 0 ? "0 or less" : "0", numbers[0],
                        counted(unsigned(numbers[1]), "trial"));
  if (reason.code == Reason::RanWell) {
    if (numbers[2] > 0) text += fmt::format(", out of memory in {:.0f}: it is unstable", numbers[2]);
    return {numbers[2] > 0 && !reason.said.empty() ? text + " (" + reason.said + ")" : text};
  }
  if (reason.said.empty() || text.empty()) return {text + reason.said};
  const std::string cause =
      reason.said +
      (reason.code == Reason::ExpectedOutOnly ? " (an estimate proves nothing; --try-infeasible runs it)" : "");
  return {text + ": " + cause, cause, text};
}

std::string stepsText(const Plan& plan, const plan::Cell& cell, const judge::ClockSteps& steps) {
  const Metric* metric = plan.findMetric(steps.metric);
  return fmt::format("{}{} was read as {}, so the interval is at least {} wide to each side", steps.metric,
                     cell.points.size() > 1 ? " of one point" : "",
                     steps.readings == 1 ? "the same each time" : fmt::format("{} different values", steps.readings),
                     formatQuantity(steps.size, metric ? metric->unit : "", metric ? metric->dimension : ""));
}

std::string whyText(const Plan& plan, const judge::ControlResult& control) {
  const std::string why = inWords(plan, control.estimate.why).text;
  if (control.estimate.why && control.estimate.why->code == Reason::OnNullCards)
    return fmt::format("{} (control {}) is not judged: {}", control.metric, control.name, why);
  // Without an interval there is nothing to compare: say why.
  if (!control.estimate.interval)
    return fmt::format("{} of {} is not judged: {}", control.metric,
                       judge::placeLabel(plan, plan.findPoint(control.point), control.name),
                       why.empty() ? "not run" : why);
  return agreementText(plan, control, control.margin ? 2 * *control.margin : 0, "are claimed at least");
}

std::string controlNeedText(const Plan& plan, const Criterion& criterion, double noise) {
  // Only ratios: a difference would need the size of its metric, which is not known before a run.
  const std::optional<double> gap = judge::gapForControls(criterion);
  const KindDesign* design = gap ? plan::designOf(plan, criterion.cells.front().kind) : nullptr;
  if (!design || plan.controls.empty() || !judge::hasControls(plan, design->kind) ||
      criterion.cells.front().estimator != Estimator::PairedRatio)
    return "";
  // The chance to find a difference that is usual in planning studies, as for criteria.
  constexpr double kChance = 0.8;
  const double confidence = judge::controlConfidence(plan);
  const unsigned blocks = design->repeat, needed = stats::pairsToFind(*gap / 2, noise, kChance, confidence);
  const std::string more =
      needed == 0        ? "; more than 100,000 blocks would be needed at this noise"
      : needed <= blocks ? ""
                         : fmt::format("; it needs about {} for {:.0f} %", counted(needed, "block"), 100 * kChance);
  return fmt::format(
      "control {} shows a difference of {}, half of what this claims, in {:.0f} % of studies with {} at {} noise{}",
      plan.controls.front().name, formatQuantity(*gap / 2, "", "share"),
      100 * stats::chanceToFind(*gap / 2, noise, blocks, confidence), counted(blocks, "block"), twoDigits(noise), more);
}

std::string whyText(const Plan& plan, const judge::Distrust& distrust) {
  return agreementText(plan, distrust.control, distrust.gap, distrust.own ? "this claims" : "are claimed at least");
}

}  // namespace expc::report
