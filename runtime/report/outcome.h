#pragma once

// What a judgement comes to: how many verdicts of each kind there are, and what there is to do next.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"

namespace expc::report {

/// Verdicts of one kind, with the marks that they have.
struct Tally {
  std::string word;        // "pass", "inconclusive", "pass (untrusted)"
  std::string_view style;  // analysis::Meaning::style
  unsigned count = 1;
};
std::vector<Tally> tallies(const analysis::Judgement& judgement);

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
