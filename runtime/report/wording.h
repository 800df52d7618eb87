#pragma once

// Sentences about a study and its results that terminal and page share, so that both say the same.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/format.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/report/layout.h"
#include "runtime/store/records.h"

namespace expc::report {

using analysis::durationText;

/// "preset quick, -D gpus=2"; "" of a whole study.
std::string selectionText(const plan::Plan& plan);

/// "image.mobilenet_v2 version 1"; of several workloads each with its label: "ours = …; theirs = …".
std::string workloadText(const plan::Plan& plan);

/// The head of all texts about a study: its name with what is `selected`, its sentence, its workload with what is
/// `beside` that.
std::vector<Paragraph> studyHead(const plan::Plan& plan, const std::string& selected, const std::string& beside);

/// Parameters that have one value at all points and are no factor: "batch 64".
std::vector<std::pair<std::string, std::string>> fixedParameters(const plan::Plan& plan);

/// "precision=fp32 gpus=2 (control again)"; the id of a point that the plan does not have.
std::string placeText(const plan::Plan& plan, const plan::Place& place);

/// "half_width(gain) <= 1.0 %".
std::string untilText(const plan::Plan& plan, const plan::Until& until);

/// A half-width in the sense of `until`.
std::string widthText(const plan::Plan& plan, const plan::Until& until, double width);

/// "node7: 4 x NVIDIA H100", of each host with the devices that trials had: of a CPU "laptop: 2 x 1 core of MODEL
/// in place of GPUs". "" where no session says.
std::string measuredOnText(const plan::Plan& plan, const store::Results& results);

/// Whether cores of a CPU stood for the GPUs that the study asks for, in some session.
bool coresStandForGpus(const plan::Plan& plan, const store::Results& results);

/// Stands over everything that null cards measured.
inline constexpr char kNullCardsNotice[] =
    "all numbers here come from cards that compute nothing; no verdict comes from them.";

/// Sentences about published values: whose they are, and which references have none for any point.
std::vector<std::string> referencesTexts(const plan::Plan& plan);

/// "0.12 ms inside a session, 0.9 ms between 3 sessions": standard deviations.
std::string spreadsText(const stats::Spreads& spreads, const std::string& unit, const std::string& dimension);

/// "other processes took over 10 % of its cores"; of a note that a workload said its text.
std::string noteText(const plan::Note& note);

/// Labels of points by why something is so of them.
using Reasons = InOrder<std::string, std::vector<std::string>>;
/// One line for each reason, however many points share it: "3 points MANY: REASON (labels of few)", "1 point ONE: …".
/// Of many reasons the first.
std::vector<std::string> reasonLines(const Reasons& reasons, const std::string& one, const std::string& many);

/// Missing and doubtful results, a line for each point: repetitions that are not tried again by themselves, timeouts
/// that count for nothing, and points that ran out of memory in some blocks only.
std::vector<std::string> shortcomings(const plan::Plan& plan, const analysis::Judgement& judgement);

/// States what `n` trials (or pairs, by `noun`) without a failure show, under the conditions that follow it: "10 passes
/// show, at 95 % confidence, that at most 26 % of such trials would fail, if trials are independent".
std::string withoutFailureText(unsigned n, const std::string& noun, const std::string& conditions);

/// "2 points have no partner: the rule of slow removes it"; "" where all have one.
std::string withoutPartnerText(const plan::Comparison& comparison);

}  // namespace expc::report
