// Commands to type next. A command is proposed only if something is known to help: trials that are still to come,
// failed ones that can be tried again, or a number of repetitions that the simulation found. Several criteria with the
// same command share a line.

#include "runtime/report/commands.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/describe/losses.h"
#include "runtime/describe/times.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// The study, and what of it: "experiments/precision.exp --study precision --preset quick -D gpus=2".
std::string selectionWords(const Plan& plan, const std::vector<std::string>& overrides) {
  std::string words = shellWord(plan.source) + " --study " + shellWord(plan.study);
  for (const std::string& preset : plan.presets) words += " --preset " + shellWord(preset);
  for (const std::string& text : overrides) words += " -D " + shellWord(text);
  return words;
}

/// The option for another results folder than the default.
std::string resultsWords(const std::string& folder) {
  return folder == "results" ? "" : " --results " + shellWord(folder);
}

using judge::NextStep;

/// Whether a criterion still wants an answer.
bool isOpen(const CriterionResult& result) { return judge::meaningOf(result).answer == judge::Answer::Undecided; }

/// Whether a point that the criterion reads lost repetitions to failures, which are tried again only on request.
bool lacksFailed(const Judgement& judgement, const Criterion& criterion) {
  return std::ranges::any_of(criterion.cells, [&](const plan::Cell& cell) {
    return std::ranges::any_of(cell.points, [&](const Place& place) {
      const PointStatus* status = judgement.status(place.point, cell.kind);
      return status && status->lacking && status->failed > 0;
    });
  });
}

/// The command that runs again what timed out: with twice the largest limit that a timeout has met.
NextCommand longerLimit(const Plan& plan, const Judgement& judgement, const std::string& folder) {
  double limit = 0;
  for (const PointStatus& status : judgement.points) limit = std::max(limit, status.limit);
  return {fmt::format("{} --timeout {:.6g}s", repeatCommand(plan, folder), 2 * limit),
          "Run again what timed out, with a longer limit"};
}

/// Returns the command that brings each open criterion further, cheapest first; criteria with the same command share a
/// line. Empty if none is known to help.
std::vector<NextCommand> furtherFor(const Plan& plan, const Judgement& judgement, const std::string& folder) {
  // Trials are still to come: go on with the same design before asking for a larger one.
  if (judgement.unfinished) {
    // If nothing of a point succeeded, running again would fail again until the cause is mended.
    const bool failed = std::ranges::any_of(
        judgement.points, [](const PointStatus& status) { return status.failed > 0 && status.valid == 0; });
    const bool timed_out = std::ranges::all_of(judgement.points, &PointStatus::onlyTimesOut);
    if (describe::largerBudget(plan, judgement, 0) > 0)
      return {{repeatCommand(plan, folder, {}, 2 * judgement.spent_seconds),
               fmt::format("The budget of {} is spent. Continue with twice as much",
                           durationText(*plan.design.budget_seconds))}};
    if (!failed && std::ranges::any_of(judgement.points, &PointStatus::needs_limit))
      return {longerLimit(plan, judgement, folder)};
    return {{repeatCommand(plan, folder), failed      ? "Fix what failed, then continue"
                                          : timed_out ? "Fix what timed out or raise its limit, then continue"
                                                      : "Continue the study"}};
  }
  struct Line {
    double seconds;
    unsigned blocks;
    std::string what_for;
  };
  InOrder<std::string, Line> lines;  // by their commands
  const auto add = [&](double seconds, unsigned blocks, const std::string& command, std::string what,
                       const std::string& gain) {
    // A second criterion with the same command joins the first one's line: "with an 80 % chance to decide a, and an 80
    // % chance to decide b".
    constexpr StringRef kWith = "with ";
    const auto [line, fresh] = lines.try_emplace(command, Line{seconds, blocks, what + gain});
    StringRef also = gain;
    also.consume_front(kWith);
    if (!fresh && !also.empty()) line->second.what_for += ", and " + also.str();
  };
  for (const auto& [_, criterion, result] : judgedOf(plan, judgement)) {
    if (!isOpen(result)) continue;
    // Failed trials are the cheapest to repeat and may be all that is missing.
    if (lacksFailed(judgement, criterion)) {
      add(0, 0, repeatCommand(plan, folder) + " --retry-failed", "Fix what failed, then retry it", "");
    } else if (!result.next && result.verdict == Verdict::Inconclusive &&
               describe::onlyTimesOut(judgement, criterion)) {
      const auto& [command, what] = longerLimit(plan, judgement, folder);
      add(0, 0, command, what, "");
    } else if (!result.next &&
               std::ranges::any_of(result.cells, [&](const CellEstimate& cell) { return lacksRow(plan, cell.why); })) {
      add(0, 0, repeatCommand(plan, folder) + " --fresh",
          "Print the rows that the output lacks, or leave their levels out of the study; then measure again", "");
    } else if (result.next && result.next->helps()) {
      static constexpr const char* kGains[] = {"with an 80 % chance to decide claim {}",
                                               "which give intervals to claim {}"};
      const NextStep& next = *result.next;
      const double seconds = next.seconds.value_or(0);
      add(seconds, next.blocks,
          repeatCommand(plan, folder, {{criterion.cells.front().kind, next.repetitions}},
                        describe::largerBudget(plan, judgement, seconds)),
          fmt::format("Add {}{}, ", moreBlocksText(next),
                      next.further_look ? " as a further look that keeps the confidence" : ""),
          fmt::format(fmt::runtime(kGains[size_t(next.reach)]), result.name) +
              (next.at_estimate ? " (" + atEstimateText(next) + ")" : ""));
    }
  }
  auto cheapest = lines.takeVector();
  // Sorted by time, then by blocks if times are unknown.
  std::ranges::stable_sort(cheapest, std::less(),
                           [](const auto& one) { return std::pair(one.second.seconds, one.second.blocks); });
  std::vector<NextCommand> commands;
  for (auto& [command, line] : cheapest) commands.push_back({command, line.what_for});
  return commands;
}

}  // namespace

std::string repeatCommand(const Plan& plan, const std::string& folder, const std::map<TrialKind, unsigned>& repetitions,
                          double budget_seconds) {
  std::vector<std::string> overrides = plan.overrides;
  const auto set = [&](const std::string& setting, const std::string& value) {
    std::erase_if(overrides, [&](const std::string& text) { return text.starts_with(setting + "="); });
    overrides.push_back(setting + "=" + value);
  };
  for (const auto& [kind, repeat] : repetitions) {
    const KindDesign* design = plan::designOf(plan, kind);
    const bool adapts = design && !design->until.empty();
    set(fmt::format("design.{}.repeat", toString(kind)),
        adapts ? fmt::format("{}..{}", repeat, std::max(repeat, design->most())) : std::to_string(repeat));
  }
  // In whole minutes only where these are little beside it.
  if (budget_seconds > 0)
    set("design.budget", budget_seconds < 300 ? fmt::format("{:.0f}s", std::ceil(budget_seconds))
                                              : fmt::format("{:.0f}min", std::ceil(budget_seconds / 60)));
  return "expc run " + selectionWords(plan, overrides) + resultsWords(folder);
}

std::string replicateCommand(const Plan& plan, const std::string& folder) {
  const std::string again = folder + "-again";
  return fmt::format("{}; expc compare {} {} {} --claims", repeatCommand(plan, again),
                     selectionWords(plan, plan.overrides), shellWord(folder), shellWord(again));
}

std::string reportCommand(const Plan& plan, const std::string& folder) {
  return "expc report " + selectionWords(plan, plan.overrides) + resultsWords(folder);
}

InOrder<std::string, Tally> tallies(const Judgement& judgement) {
  InOrder<std::string, Tally> all;
  for (const CriterionResult& result : judgement.criteria) {
    Tally& one = all[StringRef(markedVerdict(result)).lower()];
    one = {judge::meaningOf(result).style, one.count + 1};
  }
  return all;
}

std::string tallyText(const Judgement& judgement) {
  return joined(
      textsOf(tallies(judgement), [](const auto& one) { return fmt::format("{} {}", one.second.count, one.first); }));
}

std::vector<NextCommand> nextCommands(const Plan& plan, const Judgement& judgement, const std::string& folder) {
  std::vector<NextCommand> commands;
  if (judgement.null_cards || judgement.criteria.empty()) return commands;
  const bool open = std::ranges::any_of(judgement.criteria, isOpen);
  if (open) commands = furtherFor(plan, judgement, folder);
  // With trials still to come, replication and the whole study come too early.
  if (judgement.unfinished) return commands;
  if (!open)
    commands.push_back({replicateCommand(plan, folder),
                        fmt::format("Replicate, here or on another machine with a copy of {}", folder)});
  if (!plan.presets.empty() || !plan.overrides.empty())
    commands.push_back({"expc plan " + shellWord(plan.source) + " --study " + shellWord(plan.study),
                        "Plan the whole study (this is " + selectionText(plan) + ")"});
  return commands;
}

}  // namespace expc::report
