#pragma once

// What a judgement comes to: how many verdicts of each kind there are, and the commands that a reader of results can
// type next.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/layout.h"

namespace expc::report {

/// A shell command that repeats the plan, with its results in `folder`; `repetitions` in place of the planned ones of
/// the kinds that it names (where they adapt in place of the fewest), and a budget of so many seconds in place of the
/// plan's where `budget_seconds` is above 0.
std::string repeatCommand(const plan::Plan& plan, const std::string& folder = "results",
                          const std::map<plan::TrialKind, unsigned>& repetitions = {}, double budget_seconds = 0);

/// Two that measure the plan anew into another folder, and hold it against the results in `folder`.
std::string replicateCommand(const plan::Plan& plan, const std::string& folder);

/// One that reports what is stored of the plan in `folder`.
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

/// What to type next. For each criterion that is open, cheapest first: the same again where trials are still to come,
/// another try where trials failed, else more repetitions; nothing where none of these is known to help. Where all is
/// decided: the same elsewhere. Of a selection also the whole study. `folder` has the results.
std::vector<NextCommand> nextCommands(const plan::Plan& plan, const analysis::Judgement& judgement,
                                      const std::string& folder);

}  // namespace expc::report
