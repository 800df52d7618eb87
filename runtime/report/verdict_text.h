#pragma once

// What terminal, page and exports say of one verdict.

#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/report/why.h"
#include "runtime/store/records.h"

namespace expc::report {

/// The criterion of a result; none for one that the plan does not have.
const plan::Criterion* criterionOf(const plan::Plan& plan, const analysis::CriterionResult& result);

/// What was asked for and has no value (analysis::Missing), with the reason in words.
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
std::vector<Fact> verdictFacts(const plan::Plan& plan, const analysis::Judgement& judgement,
                               const store::Results& results, const plan::Criterion& criterion,
                               const analysis::CriterionResult& result);

/// "gpus=2: 1.24x [1.20x, 1.28x], n=7".
std::string cellLine(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell);

/// What its numbers are worth, and how many there are: "at 95 % confidence, a claim that does not hold would pass in at
/// most 2.5 % of such studies; it rests on 7 of 7 pairs in each cell, of 1 session on 1 node". Of one that does not
/// stand as it is printed, why that is so. "" of one that is not asked.
std::string surenessText(const plan::Plan& plan, const plan::Criterion& criterion,
                         const analysis::CriterionResult& result);
/// The first of these alone.
std::string worthText(const plan::Plan& plan, const plan::Criterion& criterion,
                      const analysis::CriterionResult& result);

/// Trials that were tried and do not count, by arm, where one arm loses clearly more of them than another; else "".
std::string unevenLossText(const plan::Plan& plan, const analysis::Judgement& judgement,
                           const plan::Criterion& criterion);

/// "interval", or "97.5 % interval" where the criterion's are not those of all tables.
std::string intervalTitle(const plan::Criterion& criterion, const analysis::CriterionResult& result);

/// Leaves out of reasons of cells what was said before: after "level=2 failed: no such file" a further "level=3 failed:
/// no such file" is "level=3 failed", and what stands `above` as it is, without a cause of its own, is "". What is true
/// of all of them is said of all, once.
std::vector<std::string> saidOnce(const std::string& above, const std::vector<Words>& reasons);

/// "9 more blocks (4 min)".
std::string moreBlocksText(const analysis::NextStep& next);

/// Whether a criterion's cells compare points (pairs) or look at single ones (trials); and that word.
bool comparesPoints(const plan::Criterion& criterion);
const char* nounOf(const plan::Criterion& criterion);

/// A share in per cent, with two digits: "5.2 %", "0.18 %".
std::string twoDigits(double share);

}  // namespace expc::report
