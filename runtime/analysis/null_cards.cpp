#include "runtime/analysis/null_cards.h"

namespace expc::analysis {
namespace {

bool isOpenAnyway(Verdict verdict) { return verdict == Verdict::NotRun || verdict == Verdict::NotAsked; }

void say(CellEstimate& cell) {
  cell.why = kOnNullCards;
  cell.cause.clear();
}

void withhold(CellEstimate& cell) {
  if (isOpenAnyway(cell.verdict)) return;
  cell.verdict = Verdict::Inconclusive;
  say(cell);
}

}  // namespace

void withholdVerdicts(Judgement& judgement) {
  judgement.null_cards = true;
  for (CriterionResult& criterion : judgement.criteria) {
    if (isOpenAnyway(criterion.verdict)) continue;
    criterion.verdict = Verdict::Inconclusive;
    criterion.why = kOnNullCards;
    criterion.untrusted.clear();
    for (CellEstimate& cell : criterion.cells) withhold(cell);
  }
  for (ComparisonResult& comparison : judgement.comparisons)
    for (CellEstimate& cell : comparison.cells)
      if (cell.estimate) say(cell);
  for (ControlResult& control : judgement.controls) {
    control.untrusted = false;
    control.why = control.metric + " (control " + control.name + ") is not judged: " + kOnNullCards;
  }
}

}  // namespace expc::analysis
