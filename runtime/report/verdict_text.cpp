// Texts about verdicts beside the line that explains them (why.cpp): what to do next, how far to trust it, what lies
// behind it. Each function gives one fact or "", and verdictFacts() puts them in order. The claims here are
// statistical, so every number stands with its condition.

#include "runtime/report/verdict_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <set>
#include <utility>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/describe/description.h"
#include "runtime/describe/losses.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/format.h"
#include "runtime/judge/meaning.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/description_text.h"
#include "runtime/report/grid.h"
#include "runtime/report/paint.h"
#include "runtime/report/wording.h"
#include "runtime/stats/procedures.h"

namespace expc::report {
namespace {

/// The largest number of single trials that a reader is asked for: without a failure they exclude failure rates above
/// 26 % (stats::zeroFailuresBound).
constexpr unsigned kTrialsThatShow = 10;

constexpr std::string_view kProvisional = "provisional: not all planned trials are measured";

/// Whether the verdict rests on constants: the values of no cell with that verdict ever varied. False if no cell has
/// it.
bool restsOnConstants(const CriterionResult& result) {
  const auto decides = [&](const auto& cell) { return cell.verdict == result.verdict; };
  return std::ranges::any_of(result.cells, decides) &&
         std::ranges::all_of(result.cells, [&](const auto& cell) { return cell.constant || !decides(cell); });
}

/// Rounds a number to two significant digits: "23000" for 23456. Estimates far beyond a design are not known better.
std::string roughly(double number) {
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(std::max(1.0, number))) - 1));
  return fmt::format("{:.0f}", std::round(number / unit) * unit);
}

}  // namespace

std::string nextStepText(const Criterion& criterion, const CriterionResult& result) {
  // A verdict without a next step is final, or rests on so few trials that more would strengthen it.
  if (!result.next && judge::meaningOf(result).stands == judge::Meaning::Stands::Little)
    return fmt::format(
        "final for these trials; {} of each without a failure would exclude failure rates above {:.2g} %",
        kTrialsThatShow, 100 * stats::zeroFailuresBound(kTrialsThatShow));
  return result.next ? adviceText(criterion, *result.next, result.scope.sessions) : "";
}

std::string atEstimateText(const judge::NextStep& next) {
  return next.at_estimate ? fmt::format("{} are enough if the estimate is the true value", next.at_estimate) : "";
}

std::string adviceText(const Criterion& criterion, const judge::NextStep& next, unsigned sessions) {
  using Reach = judge::NextStep::Reach;
  const std::string blocks = moreBlocksText(next), fewer = atEstimateText(next);
  switch (next.reach) {
    case Reach::OutOfReach:
      return fmt::format(
          "Out of reach with this noise: about {} blocks for an 80 % chance{}. Reduce the noise, {}claim a bound "
          "further from the estimate{}.",
          roughly(next.blocks), framed("; ", fewer), criterion.cells.size() > 1 ? "" : "or ",
          criterion.cells.size() > 1 ? ", or ask about fewer configurations" : "");
    case Reach::Trend:
      return "More blocks do not help while values drift over the run. Remove the trend first (a longer warm-up, fixed "
             "clocks, a quiet machine), then measure again.";
    case Reach::NotSimulated: {
      const bool kinds = std::ranges::any_of(
          criterion.cells, [&](const plan::Cell& cell) { return cell.kind != criterion.cells.front().kind; });
      return fmt::format(
          "{} how many blocks would decide it. `expc diagnose` with -D design.KIND.repeat=N says how often N "
          "repetitions would.",
          kinds ? "A claim about several kinds of trials does not show" : "The study is too large to simulate here");
    }
    case Reach::Sessions:
      return (next.sessions == 0 ? "More than a thousand sessions like these would"
                                 : fmt::format("About {} sessions like these have an 80 % chance to", next.sessions)) +
             fmt::format(
                 " decide it, if they go on to differ as these {} do. Each is a restart of the machine; what a "
                 "restart changes can also be found and fixed.",
                 sessions);
    case Reach::Intervals:
      return blocks + " would give an interval";
    case Reach::Decides:
      return fmt::format("about {} have an 80 % chance to decide it{}{}", blocks,
                         next.towards == Verdict::Inconclusive
                             ? ""
                             : fmt::format(", probably as {}", judge::meaningOf(next.towards).word),
                         framed("; ", fewer));
  }
  return "";
}

namespace {

/// Returns " (at level=1)"; "" if there is one cell only.
std::string whereText(const Plan& plan, const Criterion& criterion, const CellEstimate& cell) {
  const bool known = cell.cell < criterion.cells.size();
  return framed(" (at ", known ? cellLabel(plan, criterion, criterion.cells[cell.cell]) : std::string(), ")");
}

/// Returns why intervals are wider than the scatter of values makes them: correlation, or the steps of a clock, each
/// for the first cell that has it. A text that is in `line` already is left out.
std::vector<std::string> widerNotes(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  std::vector<std::string> notes;
  const auto first = [&](auto holds, auto text) {
    const auto cell = std::ranges::find_if(result.cells, holds);
    if (cell != result.cells.end()) notes.push_back(text(*cell) + whereText(plan, criterion, *cell));
  };
  first(
      [](const auto& cell) { return cell.correlation > 0; },
      [](const auto& cell) {
        return fmt::format(
            "consecutive values may be correlated by up to {:.2f}: {} carry the information of {:.1f} independent ones",
            cell.correlation, cell.values.size(), cell.worth);
      });
  const std::vector<Words> told = lineOf(of).told;
  const auto isTold = [&](const judge::ClockSteps& steps) {
    return std::ranges::any_of(told, [&](const Words& one) {
      return one.steps && one.steps->metric == steps.metric && one.steps->readings == steps.readings &&
             one.steps->size == steps.size;
    });
  };
  first([&](const auto& cell) { return cell.steps && cell.cell < criterion.cells.size() && !isTold(*cell.steps); },
        [&](const auto& cell) { return stepsText(plan, criterion.cells[cell.cell], *cell.steps); });
  return notes;
}

/// Describes the cell where they differ most.
std::string sessionsText(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  const CellEstimate* widest = nullptr;
  for (const CellEstimate& cell : result.cells)
    if (cell.spreads && (!widest || cell.spreads->between > widest->spreads->between)) widest = &cell;
  if (!widest || widest->cell >= criterion.cells.size()) return "";
  // The cell with the largest spread between sessions is the one whose interval it widens most.
  const plan::Cell& cell = criterion.cells[widest->cell];
  const bool ratio = cell.estimator == Estimator::PairedRatio;
  return "standard deviation: " +
         (ratio ? spreadsText(*widest->spreads, "", "share")
                : spreadsText(*widest->spreads, unitOf(criterion, cell), std::string(judge::dimensionOf(plan, cell)))) +
         whereText(plan, criterion, *widest) +
         (!widest->interval        ? ""
          : widest->spreads->apart ? "; the interval includes both, and more sessions narrow it"
          : widest->spreads->stretch > 1
              ? fmt::format("; the interval is {:.1f} times as wide for it", widest->spreads->stretch)
              : "");
}

/// Returns the metrics and points that a criterion reads, without controls.
std::set<std::pair<std::string, std::string>> readBy(const Criterion& criterion) {
  std::set<std::pair<std::string, std::string>> read;
  for (const plan::Cell& cell : criterion.cells) {
    if (!cell.term) continue;
    for (const MetricTerm& term : plan::metricTerms(*cell.term))
      if (term.place.control.empty()) read.emplace(term.metric, term.place.point);
  }
  return read;
}

/// Names values that the criterion reads and that lie far from the others of their point. They count all the same:
/// leaving them out would be a choice after seeing the data.
std::string apartText(const Plan& plan, const Criterion& criterion, const describe::Description& seen) {
  constexpr size_t kNamed = 3;
  if (seen.outliers.empty()) return "";
  const auto read = readBy(criterion);
  std::vector<std::string> names;
  for (const describe::Outlier& one : seen.outliers)
    // Outliers elsewhere do not matter to this verdict.
    if (read.count({one.metric, one.point}))
      names.push_back(fmt::format("{} of trial {} at {}", one.metric, one.trial, placeText(plan, one.point)));
  if (names.empty()) return "";
  const size_t all = names.size();
  return fmt::format("{}, included in all results: {}", counted(all, "outlier"), fewOf(std::move(names), kNamed, "; "));
}

/// Names the trials that timed out, if timeouts count as values: worse than all others.
std::string timeoutsText(const Judgement& judgement, const Judged& of) {
  constexpr size_t kNamed = 4;
  if (std::ranges::none_of(of.result.cells, [](const auto& cell) { return cell.worst.timed_out; })) return "";
  std::vector<std::string> names;
  for (const PointStatus* status : describe::statusesOf(judgement, of.criterion))
    if (status->timeouts > status->superseded)
      names.push_back(fmt::format("{} of {} at {}", status->timeouts - status->superseded,
                                  status->valid + status->timeouts - status->superseded,
                                  placeText(of.plan, status->point)));
  return names.empty() ? ""
                       : fmt::format("trials that timed out count as worse than every value: {}",
                                     fewOf(std::move(names), kNamed, ", "));
}

/// Returns the notes of the trials that a criterion reads with their counts, leaks first, then the frequent: "12 of its
/// 28 trials: other processes took over 10 % of its cores".
std::vector<std::string> trialNotes(const Criterion& criterion, const Findings& findings) {
  constexpr size_t kNamed = 3;
  if (criterion.cells.empty()) return {};
  std::set<Place> places;
  for (const plan::Cell& cell : criterion.cells)
    for (const Place& place : cell.points)
      if (const Point* point = findings.plan.findPoint(place.point))
        places.insert({findings.plan.startedFor(*point).id, place.control});
  NoteCounts counts;
  unsigned all = 0;
  for (const Trial& trial : findings.results.trials) {
    if (trial.status != TrialStatus::Valid || trial.key->kind != criterion.cells.front().kind ||
        !places.count(trial.place()))
      continue;
    ++all;
    for (const plan::Note& note : notesOf(findings.plan, trial)) counts.add(note);
  }
  std::vector<std::string> notes;
  for (const auto& [note, count] : counts.texts(/*frequent=*/true) | std::views::take(kNamed))
    notes.push_back(fmt::format("{} of its {}: {}", count, counted(all, "trial"), note));
  return notes;
}

}  // namespace

std::vector<std::string> driftNotes(const Criterion& criterion, const describe::Description& seen) {
  std::vector<std::string> notes;
  // Pairs of one block share its drift.
  if (seen.drifts.empty() || comparesPoints(criterion)) return notes;
  const auto read = readBy(criterion);
  for (const describe::Drift& drift : seen.drifts)
    if (std::ranges::any_of(read, [&](const auto& one) { return one.first == drift.metric; }))
      for (const std::string& text : driftTexts(drift)) notes.push_back("drift of " + text);
  return notes;
}

namespace {

/// Returns why a verdict does not stand as it is printed; "" if it does.
std::string doubtText(const Judged& of) {
  std::string text;
  if (of.result.provisional) text = kProvisional;
  if (of.result.untrusted)
    text += (text.empty() ? "untrusted: " : "; untrusted: ") + whyText(of.plan, *of.result.untrusted);
  return text;
}

/// Returns what `n` single trials without a failure show.
std::string singleTrialsText(const Judged& of, unsigned n) {
  const auto& [plan, criterion, result] = of;
  const bool several = result.cells.size() > 1, pairs = comparesPoints(criterion);
  // The cell with the fewest values limits what all of them show.
  const bool alike = std::ranges::all_of(result.cells, [&](const auto& cell) { return cell.values.size() == n; });
  const std::string noun = nounOf(criterion);
  const std::string values = !alike   ? "at least " + counted(n, noun)
                             : n == 1 ? "its only " + noun
                                      : "all " + counted(n, noun);
  return fmt::format("{} held in {}; {}",
                     !several ? "it"
                     : pairs  ? "each comparison"
                              : "each configuration",
                     values, withoutFailureText(n, noun, conditionsText(of)));
}

/// Returns how far the numbers behind a verdict can be trusted: the error rate of a claim with a confidence, or the
/// failure rate that single trials without a failure leave open.
std::string certaintyText(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  // Whether memory runs out is no matter of chance in this sense, and verdicts beyond Inconclusive rest on no values.
  if (criterion.infeasible || (result.verdict > Verdict::Inconclusive)) return "";
  const bool passes = result.verdict == Verdict::Pass, open = !passes && result.verdict != Verdict::Fail;
  if (!open && restsOnConstants(result))
    return "exact values, equal in every block although each block has another seed";
  if (!criterion.confidence) {
    const unsigned n = judge::singleValues(result);
    return n == 0 ? "" : singleTrialsText(of, n);
  }
  const std::string confidence = formatConfidence(*criterion.confidence) + " confidence";
  if (result.look && result.look->decided_at)
    return fmt::format("the look after {} repetitions decided it and stands: all looks together keep {}{}",
                       *result.look->decided_at, confidence, conditionsText(of));
  // The error rate of a single verdict is known for planned analyses only, so an interim one states what its intervals
  // keep.
  if (result.look)
    return fmt::format("this look's intervals, of {} so that all looks keep {}{}, {} it",
                       formatConfidence(result.look->confidence), confidence, conditionsText(of),
                       open ? "do not decide" : "decide");
  const auto isWide = [](const auto& cell) { return cell.verdict == Verdict::Inconclusive && cell.interval; };
  if (open)
    return std::ranges::any_of(result.cells, isWide)
               ? "the " + formatConfidence(*criterion.confidence) + " interval includes the bound"
               : "";
  return fmt::format("at {}, the false {} rate is at most {}{}", confidence, passes ? "pass" : "fail",
                     twoDigits((1 - *criterion.confidence) / 2), conditionsText(of));
}

/// Returns "it rests on 7 of 7 pairs in each cell (1 lost), of 2 sessions on 1 node", for the cell that has the fewest.
std::string countsText(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  const judge::Scope& scope = result.scope;
  std::string text;
  if (criterion.infeasible)
    text = "memory ran out in " + counted(scope.complete, "block");
  else if (scope.complete > scope.planned)
    text += fmt::format("{} ({} planned)", counted(scope.complete, nounOf(criterion)), scope.planned);
  else
    text += fmt::format("{} of {}", scope.complete, counted(scope.planned, nounOf(criterion)));
  if (scope.lost) text += fmt::format(" ({} lost)", counted(scope.lost, "block"));
  // The scope is that of the cell with the fewest; if all cells have as many, the text says "each".
  const auto as_few = [&](const CellEstimate& cell) {
    return cell.scope.complete == scope.complete || (criterion.infeasible && cell.verdict != result.verdict);
  };
  const bool all = std::ranges::all_of(result.cells, as_few);
  if (criterion.infeasible)
    text += all ? "" : " at the point that has the fewest";
  else if (result.cells.size() > 1)
    text += all ? " per configuration" : " in the configuration with the fewest";
  if (scope.sessions) text += ", " + counted(scope.sessions, "session");
  if (scope.nodes) text += ", " + counted(scope.nodes, "node");
  return text;
}

}  // namespace

std::string testedText(const Judged& of, const Results& results) {
  const std::string& domain = of.criterion.domain;
  if (of.result.scope.complete == 0 || !coresStandForGpus(of.plan, results)) return domain;
  return framed("", domain, "; ") + "run on CPU cores, not GPUs";
}

std::vector<Judged> judgedOf(const Plan& plan, const Judgement& judgement) {
  std::vector<Judged> all;
  for (const CriterionResult& result : judgement.criteria)
    if (const Criterion* criterion = base::named(plan.criteria, result.name)) all.push_back({plan, *criterion, result});
  return all;
}

double confidenceShown(const Judged& of) {
  double least = of.result.look ? of.result.look->confidence : of.criterion.confidence.value_or(judge::kConfidence);
  for (const CellEstimate& cell : of.result.cells)  // an earlier look may have given a narrower interval
    if (cell.interval && of.result.look) least = std::min(least, cell.confidence);
  return least;
}

std::string intervalTitle(const Judged& of) {
  const double own = confidenceShown(of);
  return (own == judge::kConfidence ? "" : formatConfidence(own) + " ") + "interval";
}

std::string ownConfidenceText(const Criterion& criterion, const CellEstimate& cell) {
  if (!cell.uncorrected || !cell.interval || cell.confidence <= criterion.confidence.value_or(1)) return "";
  return fmt::format(" ({} interval)", formatConfidence(cell.confidence));
}

const char* nounOf(const plan::Cell& cell) {
  return cell.treated > 1 ? "block" : plan::isPaired(cell) ? "pair" : "trial";
}

const char* runOf(const plan::Cell& cell) { return cell.treated <= 1 && !plan::isPaired(cell) ? "run" : nounOf(cell); }

const char* nounOf(const Criterion& criterion) {
  const auto found =
      std::ranges::find_if(criterion.cells, [](const plan::Cell& cell) { return cell.points.size() > 1; });
  return found == criterion.cells.end() ? "trial" : nounOf(*found);
}

bool comparesPoints(const Criterion& criterion) { return std::ranges::any_of(criterion.cells, plan::isPaired); }

std::vector<std::string> saidOnce(const std::vector<Words>& told, const std::vector<Words>& reasons) {
  // A cause that stands above, or in an earlier row, is not repeated. If all rows have one reason, the first row says
  // so for all.
  std::set<std::string> said;
  const auto keyOf = [](const Words& one) { return judge::withoutIds(one.cause.empty() ? one.text : one.cause); };
  for (const Words& one : told) said.insert(keyOf(one));
  const bool alike = reasons.size() > 1 && std::ranges::all_of(reasons, [&](const Words& one) {
                       return !one.text.empty() && one.text == reasons.front().text;
                     });
  return textsOf(reasons, [&](const Words& one) -> std::string {
    if (alike) return said.insert(keyOf(one)).second ? "all rows: " + one.text : "";
    if (one.cause.empty()) return said.contains(keyOf(one)) ? "" : one.text;
    return said.insert(keyOf(one)).second ? one.text : one.head;
  });
}

std::vector<MissingThing> missingThings(const Plan& plan, const Judgement& judgement) {
  std::vector<MissingThing> things;
  for (const judge::Missing& one : judgement.missing)
    things.push_back({one.what, inWords(plan, one.why).text, one.verdict});
  return things;
}

std::string missingText(const MissingThing& missing) {
  return fmt::format("{} {}: {}", judge::meaningOf(missing.verdict).word, missing.what, missing.why);
}

std::string markedVerdict(const CriterionResult& result) {
  std::string text(judge::meaningOf(result).word);
  for (const std::string& mark : marksOf(result)) text += " (" + mark + ")";
  return text;
}

std::vector<std::string> marksOf(const CriterionResult& result) {
  std::vector<std::string> marks;
  if (result.provisional) marks.emplace_back("provisional");
  if (result.untrusted) marks.emplace_back("untrusted");
  if (judge::meaningOf(result).stands == judge::Meaning::Stands::Little)
    marks.push_back(fmt::format("n={}", judge::singleValues(result)));
  return marks;
}

std::string markText(const CriterionResult& result) {
  if (result.provisional) return std::string(kProvisional);
  if (judge::meaningOf(result).stands != judge::Meaning::Stands::Little) return "";
  const unsigned n = judge::singleValues(result);
  return fmt::format("n={}: {} each; up to {:.2g} % of runs may still fail (95 % confidence)", n,
                     n == 1 ? "one value" : fmt::format("{} values", n), 100 * stats::zeroFailuresBound(n));
}

std::string moreBlocksText(const judge::NextStep& next) {
  return counted(next.blocks, "more block") + (next.seconds ? " (" + durationText(*next.seconds) + ")" : "");
}

std::string worthText(const Judged& of) {
  if (of.result.verdict == Verdict::NotAsked) return "";
  const std::string doubt = doubtText(of);
  return doubt.empty() ? certaintyText(of) : doubt;
}

std::string unevenLossText(const Judgement& judgement, const Judged& of) {
  constexpr size_t kNamed = 4;
  const std::vector<describe::ArmLosses> arms = describe::unevenLosses(judgement, of.criterion);
  if (arms.empty()) return "";
  const auto told = [&](const describe::ArmLosses& arm) {
    return fmt::format("{} of {} at {}", arm.lost, arm.all, placeText(of.plan, arm.point));
  };
  std::vector<std::string> names = textsOf(arms | std::views::take(kNamed), told);
  if (arms.size() > kNamed) names.push_back("least " + told(arms.back()));
  return "lost trials (failed, disturbed or out of memory): " + joined(names) +
         "; if losses depend on what is measured, the remaining trials are biased";
}

std::string lookText(const Judged& of) {
  if (!of.result.look || !of.criterion.confidence) return "";
  const judge::Look& look = *of.result.look;
  std::string before;
  for (const unsigned repetitions : look.before)
    before += fmt::format("{}{}", before.empty() ? "before: after " : ", ", repetitions);
  if (!before.empty()) before += "; ";
  std::string text = fmt::format(
      "interim analysis {} ({}{} of {} blocks now): its intervals are {}, so that all analyses together keep {}",
      look.before.size() + 1, before, look.now, look.of, formatConfidence(look.confidence),
      formatConfidence(*of.criterion.confidence));
  // Earlier runs whose judgement cannot be read may have looked, too, so they count against the confidence.
  if (look.decided_at) text += fmt::format("; the verdict of the look after {} stands", *look.decided_at);
  if (look.unread > 0)
    text += fmt::format("; what {} judged cannot be read any more, so {} as {} at this claim",
                        counted(look.unread, "earlier run"), look.unread == 1 ? "it counts" : "they count",
                        look.unread == 1 ? "a look" : "looks");
  return text;
}

std::string looksText(const CellEstimate& cell) {
  std::vector<std::string> all = textsOf(cell.looks, [](unsigned look) { return std::to_string(look); });
  all.push_back(std::to_string(cell.scope.complete));
  return "common to the looks after " + listed(std::move(all));
}

std::string otherLooksText(const CriterionResult& result) {
  if (result.other_looks == 0) return "";
  return fmt::format("{}, at {} of the program, {} not counted", counted(result.other_looks, "earlier look"),
                     result.other_looks == 1 ? "another version" : "other versions",
                     result.other_looks == 1 ? "is" : "are");
}

std::string surenessText(const Judged& of) {
  if (of.result.verdict == Verdict::NotAsked) return "";
  return framed("", worthText(of), "; ") + countsText(of);
}

std::vector<Fact> verdictNotes(const Findings& findings, const Judged& of) {
  const auto& [plan, criterion, result] = of;
  const describe::Description& seen = findings.judgement.description;
  std::vector<Fact> facts{{"note", lookText(of)},
                          {"note", otherLooksText(result)},
                          {"note", sessionsText(of)},
                          {"note", apartText(plan, criterion, seen)}};
  const auto note = [&](std::vector<std::string> texts) {
    for (std::string& text : texts) facts.push_back({"note", std::move(text)});
  };
  // Notes go from the statistical ones to those about single trials.
  note(widerNotes(of));
  if (result.unshown) facts.push_back({"note", whyText(plan, *result.unshown)});
  facts.push_back({"note", unevenLossText(findings.judgement, of), "warns"});
  facts.push_back({"note", timeoutsText(findings.judgement, of)});
  note(driftNotes(criterion, seen));
  note(trialNotes(criterion, findings));
  std::erase_if(facts, [](const Fact& one) { return one.text.empty(); });
  return facts;
}

std::vector<Fact> verdictFacts(const Findings& findings, const Judged& of) {
  const auto& [plan, criterion, result] = of;
  std::vector<Fact> facts{{"claim", criterion.doc},
                          {"where", criterion.where, "", true},
                          {"result", whyText(of), "result"},
                          {"expected", criterion.expected},
                          {"confidence", surenessText(of), marksOf(result).empty() ? "" : "warns"},
                          {"scope", testedText(of, findings.results)}};
  std::ranges::move(verdictNotes(findings, of), std::back_inserter(facts));
  facts.push_back({"next", nextStepText(criterion, result)});
  std::erase_if(facts, [](const Fact& one) { return one.text.empty(); });
  return facts;
}

std::string cellLine(const Plan& plan, const Criterion& criterion, const CellEstimate& cell) {
  if (cell.cell >= criterion.cells.size()) return "";
  const plan::Cell& planned = criterion.cells[cell.cell];
  const auto bounds = boundsOf(plan::boundOf(criterion, planned));
  std::string line = cellLabel(plan, criterion, planned);
  if (!line.empty()) line += ": ";
  const EstimateText text = partsOf(gridCell(plan, planned, cell, unitOf(criterion, planned)), bounds);
  line += text.estimate.empty() ? "no estimate" : text.estimate;
  if (!text.interval.empty()) line += " " + text.interval + ownConfidenceText(criterion, cell);
  line += fmt::format(", n={}", cell.scope.complete);
  const std::string why = whyText(plan, criterion, cell).text;
  return why.empty() ? line : line + ": " + why;
}

}  // namespace expc::report
