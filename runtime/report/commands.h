#pragma once

// Commands for readers to type next, and tallies of verdicts. Every command repeats the selection of the plan exactly,
// quoted for a shell, so that it can be copied.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/paint.h"

namespace expc::report {

/// Returns the command that repeats the plan, with its results in `folder`. `repetitions` replace the planned ones of
/// the kinds that it names (the least if they adapt); a `budget_seconds` above 0 replaces the plan's budget.
std::string repeatCommand(const Plan& plan, const std::string& folder = "results",
                          const std::map<TrialKind, unsigned>& repetitions = {}, double budget_seconds = 0);

/// Returns two commands that measure the plan again into another folder and compare that with the results in `folder`.
std::string replicateCommand(const Plan& plan, const std::string& folder);

/// Returns the command that reports the plan's stored results in `folder`.
std::string reportCommand(const Plan& plan, const std::string& folder);

/// The number of verdicts that read alike, and their style.
struct Tally {
  std::string_view style;  // judge::Meaning::style
  unsigned count = 0;
};
/// Counts verdicts by their word with its marks: "pass", "inconclusive", "pass (untrusted)".
InOrder<std::string, Tally> tallies(const Judgement& judgement);

/// Returns the counts of verdicts: "2 pass, 1 inconclusive"; "" for a study without criteria.
std::string tallyText(const Judgement& judgement);

/// A command, and what it is for: "to go on where the study is".
struct NextCommand {
  std::string command, what_for;
};

/// Returns the commands to type next. Each open criterion has one, cheapest first: the same command if trials are still
/// to come, another try if trials failed, else more repetitions; none if nothing is known to help. If everything is
/// decided: a replication in another folder. For a selection also the whole study.
std::vector<NextCommand> nextCommands(const Plan& plan, const Judgement& judgement, const std::string& folder);

}  // namespace expc::report
