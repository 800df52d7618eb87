#pragma once

// `expc compare`: two sets of results of one study beside each other, for a terminal, a pull request and programs.

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/analysis/sides.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::exports {

struct SideResults {
  std::string name;  // as it was asked for
  const store::Results& results;
  const analysis::Judgement& judgement;
};

/// Everything that is to be said of two sides.
struct SidesView {
  const plan::Plan& plan;
  SideResults before, after;
  const analysis::Sides& sides;
  double margin = 0;  // how much worse a metric may get: 0.02 is 2 %, of a difference of shares two points
};

/// A criterion on both sides, as the report words its verdicts.
struct VerdictPair {
  std::string name, text, before, after;
  bool changed = false;
  bool lost = false;  // it held before, and does not now
  std::string why;    // of after
};
std::vector<VerdictPair> verdictPairs(const SidesView& view);

/// What the sides differ in beside their values: machine, build, program and data, days.
struct Difference {
  std::string what, before, after;
};
std::vector<Difference> differences(const SidesView& view);

/// What the comparison can be taken for, a sentence each.
std::vector<std::string> scopeOf(const SidesView& view);

/// Whether a metric moved for worse by more than the margin: its whole interval lies beyond it.
bool isRegression(const SidesView& view, const analysis::Shift& shift);
/// What fails after and did not before, and what one side has no value of, so that it cannot be compared.
std::vector<analysis::Missing> missingOf(const SidesView& view);
/// What keeps it open whether a metric got worse: too few values, or sessions that may lie so far apart.
bool isOpen(const SidesView& view, const analysis::Shift& shift);
/// What the comparison comes to. Broken: something fails after. Fail: a metric regressed, or a verdict that held is
/// lost and something moved. Inconclusive: something cannot be compared, or cannot be told, or a verdict that held does
/// not any more and nothing moved. Else a pass.
analysis::Verdict outcomeOf(const SidesView& view);

/// "1.12x [1.10x, 1.14x]", "+3.0 ms".
std::string changeText(const analysis::Shift& shift);

std::string sidesText(const SidesView& view, unsigned width, bool colour);
std::string sidesMarkdown(const SidesView& view);
/// "expc.compare/1".
llvm::json::Value sidesJson(const SidesView& view);

}  // namespace expc::exports
