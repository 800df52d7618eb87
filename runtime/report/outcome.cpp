#include "runtime/report/outcome.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <map>

#include "runtime/analysis/meaning.h"
#include "runtime/report/commands.h"
#include "runtime/report/layout.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using analysis::NextStep;

bool isOpen(const analysis::CriterionResult& result) {
  return analysis::meaningOf(result).answer == analysis::Answer::Undecided;
}

/// A budget for trials that take `more` seconds beside those that there are, with half as much again for what takes
/// longer; 0 where the plan's is enough, or there is none.
double largerBudget(const plan::Plan& plan, const analysis::Judgement& judgement, double more) {
  constexpr double kRoom = 1.5;
  const double needed = judgement.spent_seconds + kRoom * more;
  return plan.design.budget_seconds && needed >= *plan.design.budget_seconds ? needed : 0;
}

/// With so many repetitions of each kind as the criteria take that more bring further, and what that does for which.
std::optional<NextCommand> moreRepetitions(const plan::Plan& plan, const analysis::Judgement& judgement,
                                           const std::string& folder) {
  std::map<plan::TrialKind, NextStep> most;
  std::map<NextStep::Reach, std::vector<std::string>> names;
  for (const analysis::CriterionResult& result : judgement.criteria) {
    const plan::Criterion* criterion = criterionOf(plan, result);
    if (!result.next || result.next->reach == NextStep::Reach::OutOfReach || !criterion) continue;
    NextStep& one = most[criterion->cells.front().kind];
    if (result.next->repetitions > one.repetitions) one = *result.next;
    names[result.next->reach].push_back(result.name);
  }
  if (names.empty()) return std::nullopt;
  static constexpr std::pair<NextStep::Reach, const char*> kGains[] = {
      {NextStep::Reach::Decides, "would probably decide {}"},
      {NextStep::Reach::Trusts, "would probably make {} trusted"},
      {NextStep::Reach::Intervals, "give intervals to {}"},
      {NextStep::Reach::Rarity, "show whether {} keeps holding"}};
  std::vector<std::string> gains;
  for (const auto& [reach, gain] : kGains)
    if (names.count(reach)) gains.push_back(fmt::format(fmt::runtime(gain), joined(names[reach])));
  const bool further_look = names.count(NextStep::Reach::Decides) || names.count(NextStep::Reach::Trusts);
  std::map<plan::TrialKind, unsigned> repetitions;
  std::vector<std::string> costs;
  double seconds = 0;
  for (const auto& [kind, step] : most) {
    repetitions[kind] = step.repetitions;
    costs.push_back(moreBlocksText(step));
    seconds += step.seconds.value_or(0);
  }
  return NextCommand{
      repeatCommand(plan, folder, repetitions, largerBudget(plan, judgement, seconds)),
      fmt::format("to add {}{}, which {}", joined(costs, " and "),
                  further_look ? " as a further look that keeps the confidence" : "", joined(gains, ", and "))};
}

/// What brings criteria that are open further; nothing where none of these is known to.
std::optional<NextCommand> furtherFor(const plan::Plan& plan, const analysis::Judgement& judgement,
                                      const std::string& folder) {
  if (judgement.unfinished) {
    const bool failed =
        std::any_of(judgement.points.begin(), judgement.points.end(),
                    [](const analysis::PointStatus& status) { return status.failed > 0 && status.valid == 0; });
    if (largerBudget(plan, judgement, 0) > 0)
      return NextCommand{repeatCommand(plan, folder, {}, 2 * judgement.spent_seconds),
                         fmt::format("to go on with twice the time, since the budget of {} is spent",
                                     durationText(*plan.design.budget_seconds))};
    return NextCommand{repeatCommand(plan, folder), failed ? "to go on where the study is, once what failed is mended"
                                                           : "to go on where the study is"};
  }
  if (auto more = moreRepetitions(plan, judgement, folder)) return more;
  const bool lacking = std::any_of(judgement.points.begin(), judgement.points.end(),
                                   [](const analysis::PointStatus& status) { return status.lacking; });
  if (!lacking) return std::nullopt;
  return NextCommand{repeatCommand(plan, folder) + " --retry-failed", "to try again what failed, once that is mended"};
}

}  // namespace

std::vector<Tally> tallies(const analysis::Judgement& judgement) {
  std::vector<Tally> all;
  for (const analysis::CriterionResult& result : judgement.criteria) {
    const Tally one{llvm::StringRef(markedVerdict(result)).lower(), analysis::meaningOf(result).style};
    const auto same = std::find_if(all.begin(), all.end(), [&](const Tally& tally) { return tally.word == one.word; });
    if (same == all.end())
      all.push_back(one);
    else
      ++same->count;
  }
  return all;
}

std::string tallyText(const analysis::Judgement& judgement) {
  std::vector<std::string> texts;
  for (const Tally& tally : tallies(judgement)) texts.push_back(fmt::format("{} {}", tally.count, tally.word));
  return joined(texts);
}

std::vector<NextCommand> nextCommands(const plan::Plan& plan, const analysis::Judgement& judgement,
                                      const std::string& folder) {
  std::vector<NextCommand> commands;
  if (judgement.null_cards || judgement.criteria.empty()) return commands;
  const bool open = std::any_of(judgement.criteria.begin(), judgement.criteria.end(), isOpen);
  const bool worth_more = std::any_of(judgement.criteria.begin(), judgement.criteria.end(),
                                      [](const analysis::CriterionResult& result) { return result.next.has_value(); });
  if (open || worth_more)
    if (auto further = furtherFor(plan, judgement, folder)) commands.push_back(std::move(*further));
  if (judgement.unfinished) return commands;
  if (!open)
    commands.push_back(
        {replicateCommand(plan, folder),
         fmt::format("to see which of these verdicts hold again, on this machine or on another one with a copy of {}",
                     folder)});
  if (!plan.presets.empty() || !plan.overrides.empty())
    commands.push_back({wholeStudyCommand(plan), "to see what the whole study takes, of which this is a part"});
  return commands;
}

}  // namespace expc::report
