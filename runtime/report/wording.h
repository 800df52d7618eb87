#pragma once

// Sentences that terminal and page share, so that both say the same.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::report {

/// "PASS", "FAIL", "INCONCLUSIVE", "INFEASIBLE", "NOT RUN", "NOT ASKED".
std::string verdictWord(analysis::Verdict verdict);

/// "3 min 20 s", "45 s", "2.5 h", "4 days".
std::string durationText(double seconds);

/// What a verdict speaks of, and what it rests on, by the cell that has the fewest: "gpus 1, 2 of 1..4; 7 pairs of 7, 1
/// session, 1 node; 95 % confidence". With what was lost, if anything; of a claim of infeasibility "out of memory in 2
/// blocks". "" where nothing is to be said.
std::string scopeText(const plan::Criterion& criterion, const analysis::CriterionResult& result);

/// Leaves out what stands behind a colon where it was said before: after "level=2 failed: no such file" a further
/// "level=3 failed: no such file" is "level=3 failed", and a reason without a colon that stood behind one is "".
class SaidOnce {
 public:
  SaidOnce() = default;
  /// `above` stands above all that follows.
  explicit SaidOnce(const std::string& above);
  std::string operator()(const std::string& why);

 private:
  std::set<std::string> said_;
};

/// "10 blocks at 1 % noise resolve ±1.0 %" for a ratio with a confidence, or what else can be said before a run; "" if
/// nothing.
std::string resolutionText(const plan::Plan& plan, const plan::Criterion& criterion, double noise);

/// "steps 20, warmup 5".
std::string settingsText(const llvm::json::Object& settings);

/// "precision=fp16 gpus=1" from the labels of a removed point.
std::string exampleText(const plan::Plan& plan, const std::vector<std::string>& labels);

/// Points by why something is so of them, in the order of the first of each.
class Reasons {
 public:
  void add(const std::string& reason, std::string label);
  /// One line for each reason, however many points share it: "3 points MANY: REASON (labels of few)", "1 point ONE:
  /// …". Of many reasons the first.
  std::vector<std::string> lines(const std::string& one, const std::string& many) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons_;
};

/// Points that can be run here, and how many trials of `kind` that makes.
uint64_t availablePoints(const plan::Plan& plan);

/// "0, 1, 2, …, 999 (1000 levels)".
std::string levelsText(const plan::Factor& factor);
/// What the study declares, "1..4"; "" where that is what `levelsText` says.
std::string declaredText(const plan::Factor& factor);
/// "preset quick, -D gpus=2"; "" of a whole study.
std::string selectionText(const plan::Plan& plan);

/// The metrics of `kind`, by name.
std::vector<std::string> metricsOf(const plan::Plan& plan, plan::TrialKind kind);

/// "10", or "10..20" where repetitions adapt.
std::string repetitionsText(const plan::KindDesign& design);
/// "half_width(gain) <= 1.0 %".
std::string untilText(const plan::Plan& plan, const plan::Until& until);
/// A half-width in the sense of `until`.
std::string widthText(const plan::Plan& plan, const plan::Until& until, double width);
/// A mark beside a verdict that does not stand as it is printed ("untrusted"), or that stands on little ("n=1"), and
/// why.
struct Caveat {
  std::string mark, why;
};
std::vector<Caveat> caveatsOf(const analysis::CriterionResult& result);
/// "9 more blocks (4 min)".
std::string moreBlocksText(const analysis::NextStep& next);
/// What else there is to say of a verdict, a sentence each: what would decide it, which look it is from, where the
/// block values are skewed, and how far sessions lie apart.
std::vector<std::string> remarksOn(const plan::Plan& plan, const plan::Criterion& criterion,
                                   const analysis::CriterionResult& result);

/// "0.12 ms inside a session, 0.9 ms between 3 sessions": standard deviations.
std::string spreadsText(const stats::Spreads& spreads, const std::string& unit, const std::string& dimension);

/// "timed trials, 12 of at most 20 repetitions: widest half-width of gain is 0.9 % at …, 1.0 % was asked (met)".
std::string untilResultText(const plan::Plan& plan, const analysis::UntilState& state);

/// "node7: 4 x NVIDIA H100", of each host with the devices that trials had: of a CPU "laptop: 2 x 1 core of MODEL
/// in place of GPUs". "" where no session says.
std::string measuredOnText(const plan::Plan& plan, const store::Results& results);

/// "image.mobilenet_v2 version 1"; of several workloads each with its label: "ours = …; theirs = …".
std::string workloadText(const plan::Plan& plan);

/// Stands over everything that null cards measured.
inline constexpr char kNullCardsNotice[] =
    "all numbers here come from cards that compute nothing; no verdict comes from them.";

/// What there is to say of published values, a sentence each: whose they are, and which references have none for any
/// point.
std::vector<std::string> referencesTexts(const plan::Plan& plan);

/// In place of an interval for which there are too few values.
inline constexpr char kNoInterval[] = "none: too few";

/// In place of a comparison's table that has no row.
inline constexpr char kNothingToCompare[] = "this restricted study has no two points to compare";

/// A shell command that repeats the plan, with its results in `folder`; `repetitions` in place of the planned ones of
/// the kinds that it names.
std::string repeatCommand(const plan::Plan& plan, const std::string& folder = "results",
                          const std::map<plan::TrialKind, unsigned>& repetitions = {});

/// One that measures the plan anew into another folder and holds it against the results in `folder`.
std::string replicateCommand(const plan::Plan& plan, const std::string& folder);
/// One that shows the study without presets and overrides.
std::string wholeStudyCommand(const plan::Plan& plan);

/// Parameters that have one value at all points and are no factor: "batch 64".
std::vector<std::pair<std::string, std::string>> fixedParameters(const plan::Plan& plan);

/// Whether a criterion's cells compare points (pairs) or look at single ones (values).
bool comparesPoints(const plan::Criterion& criterion);

/// The numbers that a printed value must not be confused with.
std::vector<double> boundEnds(const plan::Bound& bound);

/// "precision=fp32 gpus=2 (control again)"; the id of a point that the plan does not have.
std::string placeText(const plan::Plan& plan, const plan::Place& place);

/// What is not there and what is doubtful, a line for each point: repetitions that are not tried again by themselves,
/// timeouts that count for nothing, and points that ran out of memory in some blocks only.
std::vector<std::string> shortcomings(const plan::Plan& plan, const analysis::Judgement& judgement);

/// What trials note, and how many of them: what a setting did not do, what a profile lacks, who else took cores, where
/// a model is.
std::map<std::string, unsigned> notesOf(const store::Results& results);

/// Trials that did not end well, the newest first: what was wrong before may be mended.
std::vector<const store::Trial*> lostTrials(const store::Results& results);

}  // namespace expc::report
