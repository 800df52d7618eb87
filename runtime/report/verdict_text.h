#pragma once

// Texts about one verdict, which terminal, page and exports share. Plan, criterion and result come in, sentences go
// out; layout is left to the callers.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/numbers.h"
#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/store/records.h"

namespace expc::report {

/// A criterion with its plan and result: the subject of all texts below.
struct Judged {
  const Plan& plan;
  const Criterion& criterion;
  const CriterionResult& result;
};
/// Returns the criteria in the order of the results; a result whose criterion the plan lacks is left out.
std::vector<Judged> judgedOf(const Plan& plan, const Judgement& judgement);

/// The line of a criterion, and the reasons of cells that stand in it.
struct VerdictLine {
  std::string text;
  std::vector<Words> told = {};
  /// The end of the line of an open verdict: why its first open configuration is so.
  std::string reason = "";
};
/// Returns the line that explains a verdict: "at least 1.2x in all 4 configurations at 95 % confidence; closest to the
/// bound: 1.52x [1.48x, 1.57x] at gpus=2".
VerdictLine lineOf(const Judged& of);
/// Returns the text of that line.
std::string whyText(const Judged& of);
/// Returns why an open claim is so as a sentence, without the number of configurations, which the claim's own sentence
/// has.
std::string openSentence(const Judged& of);
/// Returns the assertions by which a passing criterion of several holds, as written.
std::vector<std::string> heldBy(const Judged& of);
/// Returns the label of a cell: "gpus=2", with its assertion where its criterion has several.
std::string cellLabel(const Plan& plan, const Criterion& criterion, const plan::Cell& cell);
/// Explains one cell beside its estimate and interval: "" if it passes, else for example "includes the bound 1.2x".
Words whyText(const Plan& plan, const Criterion& criterion, const CellEstimate& cell);

/// The cell that tells most about a verdict: the weakest that passes, the worst that fails, the first that is open.
struct Telling {
  size_t cell = 0;              // index into the result's cells
  std::optional<double> value;  // of a claim on single trials: the one that is closest to the bound, or breaks it most
  std::string shown = "";       // that value, else the estimate: "1.74x", "a timeout"; "" if there is none
  size_t broken = 0, values = 0;  // of a claim on single trials: how many break the bound, of all
};
/// Returns that cell; nothing if no cell has the verdict or is open.
std::optional<Telling> tellingOf(const Judged& of);

// ---- words about bounds (bounds_text.cpp); `dimension` is that of the values (judge::dimensionOf)

/// Returns the end of a bound as it is written: "1.2x" of ">= 1.2x"; a difference of shares in points.
std::string endText(const plan::Bound& bound, std::string_view dimension = "");
/// Returns a bound in words: "at least 1.2x", "between 0.96x and 1.04x".
std::string boundText(const plan::Bound& bound, std::string_view dimension = "");
/// Returns the opposite of a bound: "below 1.2x" for ">= 1.2x", "outside 0.96x..1.04x" for a band.
std::string violation(const plan::Bound& bound, std::string_view dimension = "");
/// Returns the ends of a bound with the unit in which it is written, which values beside it share.
Bounds boundsOf(const plan::Bound& bound);
/// Returns the name of the reference that a criterion asks to agree with.
std::string referenceOf(const Criterion& criterion);
/// Returns " in both configurations", " in all 6 configurations", " in 2 of 4 configurations"; "" for one of one.
std::string inConfigurations(size_t count, size_t all);
/// Returns the text with a capital and a full stop; a label such as "precision=fp32" keeps its letter.
std::string sentence(const std::string& text);

/// Returns that line for a criterion that claims that its points run out of memory (memory_text.cpp).
VerdictLine memoryLine(const Judged& of);

/// A result that was asked for and has no value (judge::Missing), with the reason in words.
struct MissingThing {
  std::string what, why;
  Verdict verdict;
};
/// Returns all of these, in the order of the judgement.
std::vector<MissingThing> missingThings(const Plan& plan, const Judgement& judgement);
/// Returns one as a line: "BROKEN timed case=big: sh exited with code 1".
std::string missingText(const MissingThing& missing);
/// Returns the word of a verdict with its marks: "PASS (untrusted)".
std::string markedVerdict(const CriterionResult& result);

/// Returns the marks of a verdict that does not stand as it is printed ("provisional", "untrusted"), or that rests on
/// few trials ("n=1").
std::vector<std::string> marksOf(const CriterionResult& result);

/// Explains the mark of a verdict that rests on few trials or is provisional: "n=1: one value each; up to 95 % of runs
/// may still fail (95 % confidence)"; "" without such a mark.
std::string markText(const CriterionResult& result);

/// Returns everything that is said about a verdict, in the order in which readers want it: "claim" (the author's
/// sentence), "where" (the comparison in it), "result", "how sure", "tested" (or "about" if nothing was), "note",
/// "next". The style warns if the verdict does not stand as it is printed, or rests on few trials.
std::vector<Fact> verdictFacts(const Findings& findings, const Judged& of);

/// Returns the notes among them.
std::vector<Fact> verdictNotes(const Findings& findings, const Judged& of);
/// Returns what a verdict is about, tested or not: "gpus 1, 2 of 1..4; CPU cores in place of GPUs".
std::string testedText(const Judged& of, const Results& results);

/// Returns one cell as a line: "gpus=2: 1.24x [1.20x, 1.28x], n=7".
std::string cellLine(const Plan& plan, const Criterion& criterion, const CellEstimate& cell);

/// Describes an interim analysis: "look 2 (before: after 8 repetitions; 14 of 20 now): its intervals have 98.2 %, so
/// that all looks together keep 95 %"; "" if there is only one analysis.
std::string lookText(const Judged& of);
/// Returns which looks an interval that earlier ones cut is from: "common to the looks after 10 and 20".
std::string looksText(const CellEstimate& cell);
/// Returns "2 earlier looks, at other versions of the program, are not counted", or "".
std::string otherLooksText(const CriterionResult& result);

/// Returns how far a verdict's numbers can be trusted, and how many there are: "at 95 % confidence, a claim that does
/// not hold would pass in at most 2.5 % of such studies, if pairs are independent; it rests on 7 of 7 pairs in each
/// cell, of 3 sessions on 1 node". For a verdict that does not stand as it is printed, the reason for that; "" if the
/// criterion is not asked.
std::string surenessText(const Judged& of);
/// Returns the first half of surenessText, without the counts.
std::string worthText(const Judged& of);

/// Names trials that were lost, by point, if one point loses clearly more of them than another, which may bias the
/// rest; else "".
std::string unevenLossText(const Judgement& judgement, const Judged& of);

/// Returns drifts that matter to the criterion: a drift that all points of a block share moves claims about single
/// points, while pairs cancel it.
std::vector<std::string> driftNotes(const Criterion& criterion, const describe::Description& seen);

// ---- conditions of the numbers that are not met, or were not checked (words in conditions_text.cpp)

/// Returns the open conditions: ", if pairs are independent and restarting the machine changes nothing"; "" if all are
/// met.
std::string conditionsText(const Judged& of);
/// Warns of a study whose verdicts rest on one session or two: "All data come from one session; restarting the machine
/// may change the result." Else "".
std::string sessionsNotice(const Plan& plan, const Judgement& judgement);
/// Explains intervals of criteria and of these metrics that reach beyond all of their values, since these may be
/// correlated: one sentence, however many cells have one, and what narrows them. Else "".
std::string widenedNotice(const Plan& plan, const Judgement& judgement, const std::vector<std::string>& metrics);

/// Returns " (97.5 % interval)" for a cell whose interval Holm's correction made wider than those of the criterion;
/// else "".
std::string ownConfidenceText(const Criterion& criterion, const CellEstimate& cell);

/// The confidence of the criterion's intervals as they are shown: that of its look, or less where an earlier look gave
/// a narrower interval.
double confidenceShown(const Judged& of);
/// Returns the heading of intervals: "interval", or "97.5 % interval" if the criterion's confidence is not that of
/// other tables.
std::string intervalTitle(const Judged& of);

/// Shortens the reasons of cells by what was said before. After "level=2 failed: no such file" a further "level=3
/// failed: no such file" becomes "level=3 failed". A reason without a cause of its own that was `told` becomes "". A
/// reason that all cells share is said once, for all.
std::vector<std::string> saidOnce(const std::vector<Words>& told, const std::vector<Words>& reasons);

/// Returns the cost of a next step: "9 more blocks (4 min)".
std::string moreBlocksText(const judge::NextStep& next);

/// Returns what would decide an open criterion: "about 9 more blocks (4 min) have an 80 % chance to decide it, probably
/// as PASS", or why blocks do not help and what would. For a final verdict, that nothing is left to do.
std::string nextStepText(const Criterion& criterion, const CriterionResult& result);
/// The text of a step alone; `sessions` is the number of those that are stored.
std::string adviceText(const Criterion& criterion, const judge::NextStep& next, unsigned sessions);
/// "21 are enough if the estimate is the true value", or "".
std::string atEstimateText(const judge::NextStep& next);

/// Whether a criterion's cells compare points (pairs) or look at single ones (trials), and the noun for these.
bool comparesPoints(const Criterion& criterion);
const char* nounOf(const plan::Cell& cell);
/// Returns the noun for one value in sentences about every one: "run" for a trial.
const char* runOf(const plan::Cell& cell);
const char* nounOf(const Criterion& criterion);

}  // namespace expc::report
