#pragma once

// Texts about one verdict, which terminal, page and exports share. Plan, criterion and result come in, sentences go
// out; layout is left to the callers.

#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"
#include "runtime/report/document.h"
#include "runtime/store/records.h"

namespace expc::report {

/// A criterion with what became of it.
struct Judged {
  const plan::Plan& plan;
  const plan::Criterion& criterion;
  const analysis::CriterionResult& result;
};
/// In the order of the results; of each whose criterion the plan has.
std::vector<Judged> judgedOf(const plan::Plan& plan, const analysis::Judgement& judgement);

// Why things are as they are: the reasons that are codes below, and the lines that explain verdicts, which users read
// first. Each stands alone, with numbers and units.

struct Words {
  std::string text;
  std::string cause = "";  // what `text` ends with, behind ": ", and other places may share: what a program said
};
Words inWords(const plan::Plan& plan, const plan::Why& why);

/// "all 4 cells are >= 1.2x: the smallest is 1.52x [1.48x, 1.57x]".
std::string whyText(const Judged& of);
/// Explains one cell: "" if it passes, else e.g. "1.18x [1.10x, 1.25x] does not decide >= 1.2x".
Words whyText(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell);

/// The line of a criterion that claims that its points run out of memory.
std::string memoryText(const Judged& of);

/// "step_time was read as 2 different values, so the interval reaches by a step of 10.0 ms to each side".
std::string stepsText(const plan::Plan& plan, const plan::Cell& cell, const analysis::ClockSteps& steps);

/// "step_time of precision=fp64 (control twice), run twice in each block: the later run agrees with the earlier (1.00x
/// [0.99x, 1.01x]), by less than 5.0 %, half of the 10.0 % that are claimed at least".
std::string whyText(const plan::Plan& plan, const analysis::ControlResult& control);
std::string whyText(const plan::Plan& plan, const analysis::Distrust& distrust);

/// Before a run: "control twice shows a difference of 2.5 %, half of what this claims, in 41 % of studies with 12
/// blocks at 3 % noise; it needs about 26 blocks for 80 %". "" of a criterion that holds no control to a gap.
std::string controlNeedText(const plan::Plan& plan, const plan::Criterion& criterion, double noise);

/// A result that was asked for and has no value (analysis::Missing), with the reason in words.
struct MissingThing {
  std::string what, why;
  analysis::Verdict verdict;
};
std::vector<MissingThing> missingThings(const plan::Plan& plan, const analysis::Judgement& judgement);
/// "BROKEN timed case=big: sh exited with code 1".
std::string missingText(const MissingThing& missing);
/// "PASS (untrusted)": the word with its marks.
std::string markedVerdict(const analysis::CriterionResult& result);

/// Marks beside the word of a verdict that does not stand as it is printed ("provisional", "untrusted"), or that stands
/// on little ("n=1").
std::vector<std::string> marksOf(const analysis::CriterionResult& result);

/// All that is to be said of a verdict, in the order in which one wants to know it, behind what it is of: "claim" (the
/// author's sentence), "where" (the comparison in it), "result", "how sure", "tested" (or "about", where nothing was),
/// "note", "next". It warns where the verdict does not stand as it is printed, or stands on little.
std::vector<Fact> verdictFacts(const analysis::Findings& findings, const Judged& of);

/// "gpus=2: 1.24x [1.20x, 1.28x], n=7".
std::string cellLine(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell);

/// "look 2 (before: after 8 repetitions; 14 of 20 now): at 98.2 % each, so that all looks together keep 95 %"; "" where
/// there was one look.
std::string lookText(const Judged& of);
/// "2 earlier looks, at other versions of the program, are not counted", or "".
std::string otherLooksText(const analysis::CriterionResult& result);

/// Says how far a verdict's numbers can be trusted, and how many there are: "at 95 % confidence, a claim that does not
/// hold would pass in at most 2.5 % of such studies, if pairs are independent; it rests on 7 of 7 pairs in each cell,
/// of 3 sessions on 1 node". For a verdict that does not stand as it is printed, the reason; "" if the criterion is not
/// asked.
std::string surenessText(const Judged& of);
/// The first of these alone.
std::string worthText(const Judged& of);

/// Trials that were tried and have no value, by point, where one point loses clearly more of them than another; else
/// "".
std::string unevenLossText(const analysis::Judgement& judgement, const Judged& of);

// Conditions that the numbers rest on and that are not met, or were not checked; conditions_text.cpp has the words.

/// ", if pairs are independent and restarting the machine changes nothing"; "" where everything is met.
std::string conditionsText(const Judged& of);
/// Warns of a study whose verdicts rest on one session or two: "All data come from one session; restarting the machine
/// may change the result." Else "".
std::string sessionsNotice(const plan::Plan& plan, const analysis::Judgement& judgement);

/// " (97.5 % interval)" of a cell whose interval Holm's correction made wider than those of the criterion; else "".
std::string ownConfidenceText(const plan::Criterion& criterion, const analysis::CellEstimate& cell);

/// The confidence of the criterion's intervals as they are shown: that of its look, or less where an earlier look gave
/// a narrower interval.
double confidenceShown(const Judged& of);
/// "interval", or "97.5 % interval" where the criterion's are not those of all tables.
std::string intervalTitle(const Judged& of);

/// Leaves out of reasons of cells what was said before: after "level=2 failed: no such file" a further "level=3 failed:
/// no such file" is "level=3 failed", and what stands `above` as it is, without a cause of its own, is "". What is true
/// of all of them is said of all, once.
std::vector<std::string> saidOnce(const std::string& above, const std::vector<Words>& reasons);

/// "9 more blocks (4 min)".
std::string moreBlocksText(const analysis::NextStep& next);

/// "about 9 more blocks (4 min) have an 80 % chance to decide it, probably as PASS", or why blocks do not help and what
/// would; of a final verdict that nothing is left to do.
std::string nextStepText(const plan::Criterion& criterion, const analysis::CriterionResult& result);

/// Whether a criterion's cells compare points (pairs) or look at single ones (trials); and that word.
bool comparesPoints(const plan::Criterion& criterion);
const char* nounOf(const plan::Criterion& criterion);

/// A share in per cent, with two digits: "5.2 %", "0.18 %".
std::string twoDigits(double share);

}  // namespace expc::report
