#pragma once

// Sentences about a study and its results that terminal and page share, so that both say the same.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/numbers.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/report/paint.h"
#include "runtime/store/records.h"

namespace expc::report {

using base::durationText;

/// Returns what was selected of a study: "preset quick, -D gpus=2"; "" for a whole study.
std::string selectionText(const Plan& plan);

/// Returns the workload: "image.mobilenet_v2 version 1"; several with their labels: "ours = …; theirs = …".
std::string workloadText(const Plan& plan);

/// Returns the parameters that have one value at all points and are no factor, with that value: "batch", "64".
std::vector<std::pair<std::string, std::string>> fixedParameters(const Plan& plan);

/// Returns the label of a place: "precision=fp32 gpus=2 (control again)"; the id of a point that the plan does not
/// have.
std::string placeText(const Plan& plan, const Place& place);

/// Returns a claim without its quantifier and confidence: "gain[precision = fp32] >= 1.2x". A claim that joins several
/// assertions keeps its quantifiers, since each part may have its own.
std::string assertionText(const Criterion& criterion);

/// Returns a stopping rule: "half_width(gain) <= 1.0 %".
std::string untilText(const Plan& plan, const plan::Until& until);

/// Returns the hosts with the devices that trials had: "node7: 4 x NVIDIA H100", for a CPU "laptop: 2 x 1 core of MODEL
/// in place of GPUs". "" if no session recorded its devices.
std::string measuredOnText(const Plan& plan, const Results& results);

/// Whether cores of a CPU stood in for the GPUs that the study asks for, in some session: its times then say nothing
/// about GPUs.
bool coresStandForGpus(const Plan& plan, const Results& results);

/// The notice over everything that null cards measured.
inline constexpr char kNullCardsNotice[] =
    "all numbers here come from simulated GPUs, which compute nothing; no verdict comes from them.";

/// Returns sentences about published values: whose they are, and which references have none for any point.
std::vector<std::string> referencesTexts(const Plan& plan);

/// Returns standard deviations within and between sessions: "0.12 ms inside a session and 0.9 ms between 3 sessions".
std::string spreadsText(const stats::Spreads& spreads, const std::string& unit, const std::string& dimension);

/// The notes of a trial, and those of what is computed from it: percentiles of too few values.
std::vector<plan::Note> notesOf(const Plan& plan, const Trial& trial);

/// "other processes took over 10 % of its cores"; of a note that a workload said its text.
std::string noteText(const plan::Note& note);
/// Counts notes of trials by their text. Those that spoil a result come first, then the others by their words.
class NoteCounts {
 public:
  void add(const plan::Note& note) { ++counts_[{note.code != plan::Note::Leaked, noteText(note)}]; }
  /// The texts with their counts, `frequent` first among those that spoil as much.
  std::vector<std::pair<std::string, unsigned>> texts(bool frequent = false) const;

 private:
  std::map<std::pair<bool, std::string>, unsigned> counts_;
};

/// Returns an interval as a sentence has it: "1.36x to 2.62x" of "[1.36x, 2.62x]".
std::string fromTo(std::string interval);

/// Labels of points, grouped by the reason that they share.
using Reasons = InOrder<std::string, std::vector<std::string>>;
/// Returns one line for each reason, however many points share it: "3 points MANY: REASON (labels of few)", "1 point
/// ONE: …". Only the first of many reasons are listed.
std::vector<std::string> reasonLines(const Reasons& reasons, const std::string& one, const std::string& many);

/// Returns what `n` trials (or pairs, by `noun`) without a failure show, under the conditions that follow it: "10
/// passes show, at 95 % confidence, that at most 26 % of such trials would fail, if trials are independent". The bound
/// is stats::zeroFailuresBound.
std::string withoutFailureText(unsigned n, const std::string& noun, const std::string& conditions);

/// Returns "2 points have no partner: the rule of slow removes it"; "" if every point has one.
std::string withoutPartnerText(const Comparison& comparison);

}  // namespace expc::report
