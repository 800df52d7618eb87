#pragma once

// Sums up a judgement: the number of verdicts of each kind, and the commands that a reader of results can type next.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/paint.h"

namespace expc::report {

/// A shell command that repeats the plan, with its results in `folder`. `repetitions` replace the planned ones of the
/// kinds that it names, or the fewest where they adapt. `budget_seconds` above 0 replace the plan's budget.
std::string repeatCommand(const plan::Plan& plan, const std::string& folder = "results",
                          const std::map<plan::TrialKind, unsigned>& repetitions = {}, double budget_seconds = 0);

/// Two that measure the plan anew into another folder, and hold it against the results in `folder`.
std::string replicateCommand(const plan::Plan& plan, const std::string& folder);

/// The command that reports the stored results of the plan in `folder`.
std::string reportCommand(const plan::Plan& plan, const std::string& folder);

/// Verdicts of one kind, by their word with its marks: "pass", "inconclusive", "pass (untrusted)".
struct Tally {
  std::string_view style;  // analysis::Meaning::style
  unsigned count = 0;
};
InOrder<std::string, Tally> tallies(const analysis::Judgement& judgement);

/// "2 pass, 1 inconclusive"; "" for a study without criteria.
std::string tallyText(const analysis::Judgement& judgement);

/// A command, and what it is for: "to go on where the study is".
struct NextCommand {
  std::string command, what_for;
};

/// The commands to type next. Each open criterion has one, cheapest first: the same again where trials are still to
/// come, another try where trials failed, else more repetitions; none where nothing is known to help. Where all is
/// decided: the study in another folder. For a selection also the whole study. `folder` has the results.
std::vector<NextCommand> nextCommands(const plan::Plan& plan, const analysis::Judgement& judgement,
                                      const std::string& folder);

}  // namespace expc::report
