// Makes the answer of a study: the claims that decide it, by their outcomes, in the sentences of claim_sentences.h,
// then the numbers of the first of them and the condition that matters most.

#include "runtime/report/answer.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/base/word.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/meaning.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/labels.h"
#include "runtime/report/claim_sentences.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// The outcomes, the worst first, since that decides what a study's answer leads with.
enum class Outcome { Broken, Fails, Open, Holds, NotRun, NotJudged };
constexpr std::pair<Outcome, const char*> kWords[] = {
    {Outcome::Broken, "Does not run"}, {Outcome::Fails, "No"},           {Outcome::Open, "Undecided"},
    {Outcome::Holds, "Yes"},           {Outcome::NotRun, "Not run yet"}, {Outcome::NotJudged, "Not judged"}};

Outcome outcomeOf(const CriterionResult& result) {
  if (result.verdict == Verdict::Broken) return Outcome::Broken;
  if (result.verdict == Verdict::NotRun) return Outcome::NotRun;
  switch (judge::meaningOf(result).answer) {
    case judge::Answer::Fails:
      return Outcome::Fails;
    case judge::Answer::Holds:
      return Outcome::Holds;
    case judge::Answer::NotAsked:
      return Outcome::NotJudged;
    default:
      return Outcome::Open;
  }
}

/// Whether a claim is one assertion about all of its cells, or about some of them: `exists` behind `forall` has no
/// sentence of its own.
bool isPlain(const Criterion& criterion) {
  const auto alike = [&](const auto& self, const plan::Claim& claim) -> bool {
    return claim.kind == plan::Claim::Kind::Cell ||
           (claim.kind == criterion.claim.kind &&
            std::ranges::all_of(claim.children, [&](const plan::Claim& child) { return self(self, child); }));
  };
  return !plan::isComposed(criterion) && alike(alike, criterion.claim);
}

/// Returns what is said of a claim behind the word of its outcome. An open one is a question, unless its intervals have
/// an answer that does not stand. Other claims than plain ones are told by the lines of their verdicts.
std::string phraseOf(const Findings& findings, const Judged& of) {
  const std::string& name = of.result.name;
  const bool plain = isPlain(of.criterion);
  switch (outcomeOf(of.result)) {
    case Outcome::Holds:
      return plain                            ? claimSentence(findings, of)
             : plan::isComposed(of.criterion) ? name + " " + whyText(of)
                                              : name + " holds, " + whyText(of);
    case Outcome::Fails:
      return plain ? findingSentence(findings, of) : name + " does not hold, since " + whyText(of);
    case Outcome::Open:
      return "whether " + (plain ? claimSentence(findings, of) : name + " holds");
    case Outcome::NotRun: {
      const auto unsaid = [](const CellEstimate& cell) { return !cell.why || cell.why->code == plan::Reason::NotRun; };
      if (!of.result.why && std::ranges::all_of(of.result.cells, unsaid)) return name;
      break;
    }
    case Outcome::Broken:
    case Outcome::NotJudged:
      break;
  }
  const std::string why = whyText(of);
  if (why.empty()) return name;
  return outcomeOf(of.result) == Outcome::Broken ? why : name + ", since " + why;
}

/// Returns by how much identical runs differ where a claim allows less.
std::string untrustedText(const Plan& plan, const judge::Distrust& distrust) {
  const judge::ControlResult& control = distrust.control;
  const Metric* metric = plan.findMetric(control.metric);
  const bool ratio = control.ratio || !metric;
  const std::string unit = ratio ? "x" : metric->unit, dimension = ratio ? "" : metric->dimension;
  const double gap = distrust.gap / 2;
  const std::string allowed = ratio ? formatQuantity(gap, "", "share") : formatQuantity(gap, unit, dimension);
  const CellEstimate& found = control.estimate;
  const std::string size =
      found.estimate && found.interval ? formatEstimate(*found.estimate, *found.interval, unit, dimension) : "unknown";
  return fmt::format("Untrusted: in {} two identical runs of {} differ by {}, and this claim allows {}.",
                     control.metric, judge::placeLabel(plan, plan.findPoint(control.point)), size, allowed);
}

/// Returns why a verdict does not stand; "" if it does.
std::string doubtOf(const Judged& of) {
  if (of.result.untrusted) return untrustedText(of.plan, *of.result.untrusted);
  if (!of.result.provisional) return "";
  if (of.result.scope.complete == 0)
    return fmt::format("So far {}; some configurations are not measured yet, and the verdict may change.",
                       of.result.verdict == Verdict::Fail ? "no" : "yes");
  return fmt::format("So far {}: {} of {} are measured, and the verdict may change.",
                     of.result.verdict == Verdict::Fail ? "no" : "yes", of.result.scope.complete,
                     counted(of.result.scope.planned, nounOf(of.criterion)));
}

/// Returns how to get an interval of values that were equal in all trials; "" if they were not.
std::string equalText(const Judged& of) {
  for (const CellEstimate& cell : of.result.cells)
    if (cell.steps && cell.steps->readings == 1 && cell.interval && cell.cell < of.criterion.cells.size())
      return stepsText(of.plan, of.criterion.cells[cell.cell], *cell.steps) +
             "; if it has no such step, declare it `exact`.";
  return "";
}

/// Returns the sentences that follow the result of one claim: its numbers, and why it does not stand.
std::vector<std::string> evidenceOf(const Findings& findings, const Judged& of, bool brief = false) {
  std::vector<std::string> all;
  const Outcome outcome = outcomeOf(of.result);
  const bool judged = outcome == Outcome::Holds || outcome == Outcome::Fails || outcome == Outcome::Open;
  if (judged && isPlain(of.criterion)) all.push_back(evidenceSentence(findings, of, brief));
  if (outcome == Outcome::Open && !isPlain(of.criterion)) all.push_back(openSentence(of));
  all.push_back(doubtOf(of));
  // The reason of an open claim says so already.
  if (judged && outcome != Outcome::Open) all.push_back(equalText(of));
  std::erase(all, "");
  return all;
}

/// Returns the best point of the first metric with a direction, for a study that claims nothing.
Answer bestPoint(const Findings& findings) {
  const auto& [plan, judgement, results] = findings;
  std::vector<std::string> names = textsOf(plan.tables, &plan::Table::subject);
  for (const Metric& metric : plan.metrics) names.push_back(metric.name);
  for (const std::string& name : names) {
    const Metric* metric = plan.findMetric(name);
    if (!metric || !metric->better) continue;
    const bool lower = *metric->better == plan::Direction::Lower;
    const judge::Summary* best = nullptr;
    for (const judge::Summary& one : judgement.summaries)
      if (one.metric == name && one.median && std::isfinite(*one.median) &&
          (!best || (lower ? *one.median < *best->median : *one.median > *best->median)))
        best = &one;
    if (!best) continue;
    const Point* point = plan.findPoint(best->point);
    const std::string value = formatQuantity(*best->median, metric->unit, metric->dimension);
    const std::string n = best->n == 1 ? "one run" : fmt::format("median of {} runs", best->n);
    const std::string text = plan.points.size() > 1 ? fmt::format("{} {}: {} at {} ({}).", lower ? "Lowest" : "Highest",
                                                                  name, value, judge::placeLabel(plan, point), n)
                                                    : fmt::format("{}: {} ({}).", name, value, n);
    return {"none", "", {text, "The study claims nothing, so there is no verdict."}};
  }
  return {"none", "", {"The study claims nothing, so there is no verdict."}};
}

/// Returns the condition of the study that matters most; "" if there is none.
std::string conditionOf(const Findings& findings, const std::vector<Judged>& lead, Answer& answer) {
  const auto& [plan, judgement, results] = findings;
  if (coresStandForGpus(plan, results)) return "Measured on CPU cores, not GPUs.";
  for (const Judged& of : lead)
    if (judge::meaningOf(of.result).stands == judge::Meaning::Stands::Little) {
      answer.says_few = true;
      return sentence(worthText(of));
    }
  // The condition belongs to claims with a confidence.
  const bool confident =
      std::ranges::any_of(lead, [](const Judged& of) { return of.criterion.confidence.has_value(); });
  if (const std::string sessions = sessionsNotice(plan, judgement); confident && !sessions.empty()) {
    answer.says_sessions = true;
    return sessions;
  }
  // A broken configuration lost all of its trials, which the result says.
  if (outcomeOf(lead[0].result) == Outcome::Broken) return "";
  for (const Judged& of : lead)
    if (const std::string losses = unevenLossText(judgement, of); !losses.empty()) return sentence(losses);
  return "";
}

/// Returns "; 2 other claims hold and 1 is undecided" for the outcomes that do not lead.
std::string othersText(const std::map<Outcome, std::vector<Judged>>& groups, Outcome lead) {
  static constexpr std::pair<Outcome, std::pair<const char*, const char*>> kTexts[] = {
      {Outcome::Fails, {"fails", "fail"}},
      {Outcome::Open, {"is undecided", "are undecided"}},
      {Outcome::Holds, {"holds", "hold"}},
      {Outcome::NotRun, {"was not run", "were not run"}},
      {Outcome::NotJudged, {"cannot be judged here", "cannot be judged here"}}};
  std::vector<std::string> texts;
  for (const auto& [outcome, verbs] : kTexts) {
    const auto* group = entryOf(groups, outcome);
    if (outcome == lead || !group) continue;
    const size_t count = group->size();
    texts.push_back(fmt::format("{} {}", texts.empty() ? counted(count, "other claim") : std::to_string(count),
                                count == 1 ? verbs.first : verbs.second));
  }
  return framed("; ", listed(std::move(texts)));
}

/// Returns " (narrowed to gpus=2 by -D)" for what the command line selected or replaced; "" without that.
std::string narrowedText(const Plan& plan) {
  std::vector<std::string> levels, others;
  for (const std::string& text : plan.overrides) {
    const std::string name = text.substr(0, text.find('='));
    (base::findNamed(plan.factors, name) >= 0 ? levels : others).push_back(text);
  }
  std::vector<std::string> texts;
  if (!levels.empty()) texts.push_back("narrowed to " + listed(std::move(levels)));
  if (!others.empty()) texts.push_back("run with " + listed(std::move(others)));
  return framed(" (", listed(std::move(texts)), " by -D)");
}

}  // namespace

std::string Answer::text() const {
  std::string all = word.empty() ? "" : word + (word == "Undecided" ? " " : ": ");
  for (size_t i = 0; i < sentences.size(); ++i) all += (i > 0 ? " " : "") + sentences[i];
  return all;
}

Paragraph Answer::block() const {
  std::string rest = Answer{"", "", sentences}.text();
  const char* stop = word == "Undecided" || word.empty() ? "" : ":";
  return {.text = std::move(rest), .tone = Tone::Plain, .word = word + stop, .style = style, .apart = true};
}

std::string Answer::markup() const {
  const Paragraph one = block();
  return fmt::format("<p class=\"answer {}\">{}{}</p>", style, framed("<b>", html(one.word), "</b> "),
                     htmlProse(one.text));
}

Answer answerOf(const Findings& findings, bool brief) {
  const auto& [plan, judgement, results] = findings;
  if (judgement.null_cards)
    return {"fail", "Not judged", {"all numbers come from simulated GPUs, which compute nothing."}};
  std::map<Outcome, std::vector<Judged>> groups;
  for (const Judged& of : judgedOf(plan, judgement)) groups[outcomeOf(of.result)].push_back(of);
  if (groups.empty()) return bestPoint(findings);
  // Claims that were never run, or are not judged here, lead only if there are no others.
  const auto& [outcome, lead] = *groups.begin();
  Answer answer{judge::meaningOf(lead[0].result).style, kWords[size_t(outcome)].second, {}};
  constexpr size_t kSaid = 3;
  std::vector<std::string> phrases;
  for (const Judged& of : lead)
    if (phrases.size() < (lead.size() > kSaid ? 1 : kSaid))
      // Claims that break for one reason share its sentence.
      base::addOnce(phrases, phraseOf(findings, of));
  std::string result = joined(phrases, phrases.size() == 2 ? ", and " : "; ");
  // The reasons of several broken claims are long and do not name them.
  if (lead.size() > kSaid || (outcome == Outcome::Broken && phrases.size() > 1))
    result = fmt::format("{} claims, such as {}: {}", lead.size(), lead[0].result.name, phrases[0]);
  answer.sentences.push_back(result + othersText(groups, outcome) + narrowedText(plan) + ".");
  // The claim with the strongest case against the lead would take a comparison across units; the first one is shown.
  for (std::string& text : evidenceOf(findings, lead[0], brief)) answer.sentences.push_back(std::move(text));
  if (std::string condition = conditionOf(findings, lead, answer); !condition.empty() && answer.sentences.size() < 3)
    answer.sentences.push_back(brief && answer.says_sessions ? "One session." : std::move(condition));
  else
    answer.says_sessions = answer.says_few = false;
  return answer;
}

std::string answerText(const Findings& findings, const Judged& of) {
  const Outcome outcome = outcomeOf(of.result);
  Answer answer{"", kWords[size_t(outcome)].second, {phraseOf(findings, of) + "."}};
  for (std::string& text : evidenceOf(findings, of)) answer.sentences.push_back(std::move(text));
  if (judge::meaningOf(of.result).stands == judge::Meaning::Stands::Little)
    answer.sentences.push_back(sentence(worthText(of)));
  return answer.text();
}

}  // namespace expc::report
