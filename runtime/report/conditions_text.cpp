// Turns conditions of verdicts into words: those of an error rate that are not met or were not checked. Finding them is
// left to judge/conditions.cpp.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/report/paint.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {
namespace {

using judge::Condition;

/// Text of each code, in the order of the codes. Placeholders: 0 is "pair" or "trial", 1 the number with two decimals,
/// 2 "the 3 lost trials are". 3: "effect" or
/// "value".
constexpr std::pair<Condition::Code, std::string_view> kTexts[] = {
    {Condition::Independent, "{0}s are independent"},
    {Condition::Correlated, "consecutive {0}s are correlated by no more than the {1:.2f} that the intervals allow for"},
    {Condition::LostAlike, "{2} like the others"},
    {Condition::OneSession, "restarting the machine changes nothing"},
    {Condition::TwoSessions, "sessions do not differ in this {3} (two cannot show it)"},
    {Condition::SingleArm, "trials do not drift"}};
static_assert(standAtTheirCodes(kTexts, Condition::SingleArm));

}  // namespace

std::string conditionsText(const Judged& of) {
  const std::string noun = nounOf(of.criterion);
  std::string text;
  const std::vector<Condition>& all = of.result.conditions;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto lost = unsigned(all[i].number);
    const std::string those = lost == 1 ? "the lost trial is" : fmt::format("the {} lost trials are", lost);
    text += i == 0 ? ", if " : i + 1 == all.size() ? " and " : ", ";
    text += fmt::format(fmt::runtime(kTexts[all[i].code].second), noun, all[i].number, those,
                        comparesPoints(of.criterion) ? "effect" : "value");
    if (all[i].code == Condition::Independent && all[i].number > 0)
      text += fmt::format(" (their correlation may be {:.2f})", all[i].number);
  }
  return text;
}

std::string sessionsNotice(const Plan& plan, const Judgement& judgement) {
  // The verdict that rests on the most sessions decides: if even that has two at most, it holds for all.
  unsigned sessions = 0;
  for (const auto& [_, criterion, result] : judgedOf(plan, judgement))
    if (criterion.confidence && !result.conditions.empty()) sessions = std::max(sessions, result.scope.sessions);
  if (judgement.null_cards || sessions == 0 || sessions > 2) return "";
  if (sessions == 1 && plan.hasServices() && plan.design.restart == plan::Restart::Session)
    return "All data come from one session, in which services did not restart; restarting them or the machine may "
           "change "
           "the result.";
  return sessions == 1 ? "All data come from one session; restarting the machine may change the result."
                       : "All data come from two sessions, which hardly show how much sessions differ; a third may "
                         "change the result.";
}

std::string widenedNotice(const Plan& plan, const Judgement& judgement, const std::vector<std::string>& metrics) {
  // An interval without an allowance ends at values. One that is wider for its sessions or for the steps of a clock has
  // a note of its own.
  const auto is_widened = [](const auto& one) {
    if (!one.interval || one.correlation <= 0 || one.values.empty() || (one.spreads && one.spreads->stretch > 1))
      return false;
    const auto [low, high] = std::ranges::minmax_element(one.values);
    return std::isfinite(one.interval->low) && std::isfinite(one.interval->high) &&
           (*low > one.interval->low || *high < one.interval->high);
  };
  std::string first;
  double worth = 0;
  size_t cells = 0;
  const auto add = [&](const auto& one, const std::string& what, const std::string& where) {
    if (!is_widened(one) || cells++ > 0) return;
    first = fmt::format("{} of {}{}", one.values.size(), what, framed(" at ", where));
    worth = one.worth;
  };
  for (const auto& [_, criterion, result] : judgedOf(plan, judgement))
    for (const CellEstimate& cell : result.cells)
      if (cell.cell < criterion.cells.size() && !cell.steps)
        add(cell, result.name, cellLabel(plan, criterion, criterion.cells[cell.cell]));
  for (const judge::Summary& summary : judgement.summaries)
    if (is_contained(metrics, summary.metric)) {
      const Point* point = plan.findPoint(summary.point);
      add(summary, summary.metric, point ? plan.label(*point) : "");
    }
  if (cells == 0) return "";
  return fmt::format(
      "Wide intervals: values may be correlated (each like the one before), so {}{} are worth about {:.1f} independent "
      "ones. More blocks or a quieter machine narrow them.",
      first, cells > 1 ? fmt::format(" (and {})", counted(cells - 1, "more cell")) : "", worth);
}

}  // namespace expc::report
