// Remarks about what verdicts rest on: controls, adaptive repetition, notes of trials, and everything that is missing.
// Alike remarks are counted rather than repeated, and long lists are cut, since a study may have thousands of trials.

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/judge/block_values.h"
#include "runtime/judge/format.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/paint.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Returns how adaptive repetition ended: "timed trials, 12 of at most 20 repetitions: widest half-width of gain is 0.9
/// % at …, 1.0 % was asked (met)".
std::string untilResultText(const Plan& plan, const judge::UntilState& state) {
  const std::string where = framed(" at ", state.where);
  const std::string so_far =
      fmt::format("{} trials, {} of at most {} repetitions: ", toString(state.kind), state.blocks, state.most);
  if (!state.widest) return so_far + fmt::format("no interval of {} yet{}", state.until.subject, where);
  return so_far + fmt::format("widest half-width of {} is {}{}, {} was asked ({})", state.until.subject,
                              judge::widthText(plan, state.until, *state.widest), where,
                              judge::widthText(plan, state.until, state.until.half_width),
                              state.met                    ? "met"
                              : state.blocks >= state.most ? "not met"
                                                           : "not met yet");
}

/// Returns the notes of trials with the number of trials that have each: settings without effect, profiles that lack
/// something, other processes on the cores.
NoteCounts countNotes(const Plan& plan, const Results& results) {
  NoteCounts notes;
  for (const Trial& trial : results.trials)
    for (const plan::Note& note : notesOf(plan, trial)) notes.add(note);
  return notes;
}

/// Returns trials that did not end well, the newest first: what was wrong before may be mended.
std::vector<const Trial*> lostTrials(const Results& results) {
  std::vector<const Trial*> lost;
  for (const Trial& trial : results.trials)
    if (trial.status != TrialStatus::Valid && trial.status != TrialStatus::Running) lost.push_back(&trial);
  std::ranges::reverse(lost);
  return lost;
}

/// Removes parts without lines, and cuts long ones.
std::vector<Part> settled(std::vector<Part> all) {
  std::erase_if(all, [](const Part& one) { return one.blocks.empty(); });
  for (Part& one : all) shorten(one.blocks, kMostLines);
  return all;
}

/// Returns a part of sentences that the page folds.
Part foldedPart(std::string title, std::string rest, const std::vector<std::string>& texts) {
  return {.title = std::move(title), .rest = std::move(rest), .blocks = sentences(texts), .folded = true};
}

/// Returns a line for each group of lost trials that agree in kind, status and reason, with the log of the newest one,
/// the newest group first.
std::vector<Paragraph> lostTrialsTexts(const Plan& plan, const Results& results) {
  using Alike = std::tuple<TrialKind, TrialStatus, std::string>;
  struct Those {
    unsigned trials = 0;
    std::set<Place> places;
    std::string first, reason, log;
  };
  InOrder<Alike, Those> those;
  for (const Trial* trial : lostTrials(results)) {
    Those& same = those[{trial->key->kind, trial->status, judge::withoutIds(trial->reason)}];
    if (++same.trials == 1) {
      same.first = placeText(plan, trial->place());
      same.reason = trial->reason;
      same.log = trial->log_tail;
    }
    same.places.insert(trial->place());
  }
  std::vector<Paragraph> lines;
  for (const auto& [alike, same] : those) {
    const auto& [kind, status, _] = alike;
    const size_t more = same.places.size() - 1;
    lines.push_back({.text = fmt::format("{} {}{} {}: {}{}", toString(kind), same.first,
                                         more > 0 ? " and " + counted(more, "more point") : "", store::toString(status),
                                         same.reason, same.trials > 1 ? fmt::format(" ({} times)", same.trials) : ""),
                     .log = same.log});
  }
  return lines;
}

}  // namespace

std::vector<Part> trustRemarks(const Findings& findings) {
  const auto& [plan, judgement, results] = findings;
  std::vector<std::string> controls, repetitions, notes;
  for (const judge::ControlResult& control : judgement.controls)
    controls.push_back((control.untrusted ? "untrusted: " : "") + whyText(plan, control));
  for (const judge::UntilState& state : judgement.untils) repetitions.push_back(untilResultText(plan, state));
  for (const auto& [note, count] : countNotes(plan, results).texts())
    notes.push_back(fmt::format("{} ({})", note, counted(count, "trial")));
  return settled({foldedPart("Controls", "identical runs in one block", controls),
                  foldedPart("Repetitions", "blocks continue until intervals are narrow enough", repetitions),
                  foldedPart("Notes of trials", "", notes), foldedPart("Published values", "", referencesTexts(plan))});
}

std::vector<Part> missingRemarks(const Findings& findings) {
  const auto& [plan, judgement, results] = findings;
  Part lost{.title = "Lost trials", .rest = fmt::format("{} of {}", lostTrials(results).size(), results.trials.size())};
  append(lost.blocks, lostTrialsTexts(plan, results));
  return settled(
      {std::move(lost), foldedPart("Missing", "", shortcomings(plan, judgement)),
       foldedPart("Stored but ignored", counted(results.kept_not_counted, "trial"), results.not_counted_reasons)});
}

std::vector<std::string> shortcomings(const Plan& plan, const Judgement& judgement) {
  std::vector<std::string> lines;
  for (const Point& point : plan.points) {
    for (const KindDesign& design : plan.design.kinds) {
      const PointStatus* status = judgement.status(point.id, design.kind);
      if (!status) continue;
      const std::string label = plan.label(point);
      const std::string who = fmt::format("{} {}", toString(design.kind), label.empty() ? "trials" : label);
      if (status->lacking)
        lines.push_back(fmt::format("{}: {} of {} blocks; expc has stopped retrying (--retry-failed tries again)", who,
                                    status->valid, status->planned));
      if (status->unstable())
        lines.push_back(fmt::format("{} is unstable: out of memory in {}, {} beside: {}", who,
                                    counted(status->infeasible, "block"), counted(status->valid, "valid trial"),
                                    status->memory_reason));
      if (status->invalid)
        lines.push_back(fmt::format("{}: {} disturbed, ignored", who, counted(status->invalid, "trial")));
      if (status->superseded)
        lines.push_back(fmt::format("{}: {} ignored, because another trial had a longer limit", who,
                                    counted(status->superseded, "timeout")));
    }
  }
  size_t not_run = 0;
  for (const MissingThing& missing : missingThings(plan, judgement))
    if (missing.verdict == Verdict::NotRun)
      ++not_run;
    else
      lines.push_back(missingText(missing));
  if (not_run > 0) lines.push_back(counted(not_run, "point") + (not_run == 1 ? " was not run" : " were not run"));
  return lines;
}

std::vector<Block> missingLines(const std::vector<MissingThing>& missing) {
  std::vector<Block> lines;
  const std::string* before = nullptr;
  for (const MissingThing& one : missing) {
    const judge::Meaning& meaning = judge::meaningOf(one.verdict);
    say(lines,
        {.text = before && judge::withoutIds(*before) == judge::withoutIds(one.why) ? "for the same reason" : one.why,
         .word = std::string(meaning.word),
         .style = meaning.style,
         .of = one.what});
    before = &one.why;
  }
  return lines;
}

std::string trialsText(const Findings& findings) {
  const auto& [plan, judgement, results] = findings;
  const size_t all = results.trials.size(), bad = lostTrials(results).size();
  // One line for everything: of each kind of remark the first stands for the others, which are counted.
  const auto first = [](const std::string& text, size_t of) {
    return text + (of > 1 ? fmt::format(" (and {} more)", of - 1) : "");
  };
  const std::vector<Paragraph> lost = lostTrialsTexts(plan, results);
  std::string text = fmt::format("{} of {} valid", all - bad, all);
  if (bad > 0) text += fmt::format("; {} not: {}", bad, first(lost[0].text, lost.size()));
  if (all == 0) text = results.kept_not_counted ? "no stored trial counts" : "no trial has run yet";
  const auto notes = countNotes(plan, results).texts(/*frequent=*/true);
  if (!notes.empty())
    text += fmt::format("; {} with the note: {}", notes[0].second, first(notes[0].first, notes.size()));
  if (notes.empty() && bad == 0 && all > 0) text += ", none disturbed";
  std::vector<std::string> lacking = shortcomings(plan, judgement);
  // Results without a value have lines of their own, and a point that failed in every trial lacks its results for the
  // reason above.
  std::set<std::string> own_lines;
  for (const MissingThing& thing : missingThings(plan, judgement)) own_lines.insert(missingText(thing));
  std::erase_if(lacking, [&](const std::string& one) {
    if (own_lines.contains(one)) return true;
    return std::ranges::any_of(results.trials, [&](const Trial& trial) {
      return !trial.reason.empty() &&
             judge::withoutIds(one).ends_with(": " + judge::withoutIds(judge::brief(trial.reason)));
    });
  });
  if (!lacking.empty()) text += "; " + first(lacking[0], lacking.size());
  if (results.kept_not_counted)
    // A single reason counts the trials itself.
    text += results.not_counted_reasons.size() == 1
                ? "; stored but ignored: " + results.not_counted_reasons[0]
                : fmt::format("; {} stored but ignored{}", results.kept_not_counted,
                              results.not_counted_reasons.empty()
                                  ? ""
                                  : ": " + first(results.not_counted_reasons[0], results.not_counted_reasons.size()));
  return text;
}

}  // namespace expc::report
