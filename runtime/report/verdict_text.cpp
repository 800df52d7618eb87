#include "runtime/report/verdict_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/description.h"
#include "runtime/analysis/format.h"
#include "runtime/analysis/meaning.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/find.h"
#include "runtime/report/grid.h"
#include "runtime/report/layout.h"
#include "runtime/report/sections.h"
#include "runtime/report/wording.h"
#include "runtime/stats/procedures.h"

namespace expc::report {
namespace {

/// The largest number of single trials that a reader may be asked for: without a failure they exclude failure rates
/// above 26 %.
constexpr unsigned kTrialsThatShow = 10;

/// Whether the values of no cell that has the verdict ever varied; false where none has it.
bool restsOnConstants(const analysis::CriterionResult& result) {
  const auto decides = [&](const auto& cell) { return cell.verdict == result.verdict; };
  return std::ranges::any_of(result.cells, decides) &&
         std::ranges::all_of(result.cells, [&](const auto& cell) { return cell.constant || !decides(cell); });
}

/// A number with two digits that count: 23000 for 23456.
std::string roughly(double number) {
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(std::max(1.0, number))) - 1));
  return fmt::format("{:.0f}", std::round(number / unit) * unit);
}

}  // namespace

std::string nextStepText(const plan::Criterion& criterion, const analysis::CriterionResult& result) {
  using Reach = analysis::NextStep::Reach;
  const bool decided = result.verdict == analysis::Verdict::Pass || result.verdict == analysis::Verdict::Fail;
  if (!result.next && analysis::meaningOf(result).stands == analysis::Meaning::Stands::Little)
    return fmt::format(
        "final for these trials; {} of each without a failure would exclude failure rates above {:.2g} %",
        kTrialsThatShow, 100 * stats::zeroFailuresBound(kTrialsThatShow));
  if (!result.next) return decided && result.isFinal() ? "nothing is left to do: it is decided" : "";
  const analysis::NextStep& next = *result.next;
  const std::string blocks = moreBlocksText(next);
  switch (next.reach) {
    case Reach::OutOfReach:
      return fmt::format(
          "Out of reach with this noise: about {} blocks for an 80 % chance. Reduce the noise, {}claim a larger "
          "effect{}.",
          roughly(next.blocks), criterion.cells.size() > 1 ? "" : "or ",
          criterion.cells.size() > 1 ? ", or ask about fewer configurations" : "");
    case Reach::Trend:
      return "More blocks do not help while values drift over the run. Remove the trend first (a longer warm-up, fixed "
             "clocks, a quiet machine), then measure anew.";
    case Reach::NotSimulated:
      return "The study is too large to simulate here how many blocks would decide it. `expc diagnose` with "
             "-D design.KIND.repeat=N says how often N repetitions would.";
    case Reach::Sessions:
      return (next.sessions == 0 ? "More than a thousand sessions like these would"
                                 : fmt::format("About {} sessions like these have an 80 % chance to", next.sessions)) +
             fmt::format(
                 " decide it, if they go on to differ as these {} do. Each is a restart of the machine; what a "
                 "restart changes can also be found and fixed.",
                 result.scope.sessions);
    case Reach::Intervals:
      return blocks + " would give it intervals";
    case Reach::Decides:
      return fmt::format("about {} have an 80 % chance to decide it{}", blocks,
                         next.towards == analysis::Verdict::Inconclusive
                             ? ""
                             : fmt::format(", probably as {}", analysis::meaningOf(next.towards).word));
  }
  return "";
}

namespace {

/// " (at level=1)", or nothing where there is one cell.
std::string whereText(const plan::Criterion& criterion, const analysis::CellEstimate& cell) {
  const std::string where =
      cell.cell < criterion.cells.size() ? analysis::cellLabel(criterion.factors, criterion.cells[cell.cell]) : "";
  return where.empty() ? "" : " (at " + where + ")";
}

/// Why intervals are wider than the values' own scatter makes them: the first of each reason.
std::vector<std::string> widerNotes(const Judged& of, const std::string& line) {
  const auto& [plan, criterion, result] = of;
  std::vector<std::string> notes;
  const auto first = [&](auto holds, auto text) {
    const auto cell = std::find_if(result.cells.begin(), result.cells.end(), holds);
    if (cell != result.cells.end()) notes.push_back(text(*cell) + whereText(criterion, *cell));
  };
  first([](const auto& cell) { return cell.correlation > 0; },
        [](const auto& cell) {
          return fmt::format("consecutive values may be correlated by up to {:.2f}: {} count as {:.1f}",
                             cell.correlation, cell.values.size(), cell.worth);
        });
  const auto steps = [&](const auto& cell) {
    return cell.steps && cell.cell < criterion.cells.size() ? stepsText(plan, criterion.cells[cell.cell], *cell.steps)
                                                            : "";
  };
  first([&](const auto& cell) { return !steps(cell).empty() && line.find(steps(cell)) == std::string::npos; }, steps);
  return notes;
}

/// Describes the cell whose sessions differ most.
std::string sessionsText(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  const analysis::CellEstimate* widest = nullptr;
  for (const analysis::CellEstimate& cell : result.cells)
    if (cell.spreads && (!widest || cell.spreads->between > widest->spreads->between)) widest = &cell;
  if (!widest || widest->cell >= criterion.cells.size()) return "";
  const plan::Cell& cell = criterion.cells[widest->cell];
  const bool ratio = cell.estimator == plan::Estimator::PairedRatio;
  return "values scatter by " +
         (ratio ? spreadsText(*widest->spreads, "", "share")
                : spreadsText(*widest->spreads, criterion.unit, std::string(analysis::dimensionOf(plan, cell)))) +
         whereText(criterion, *widest) +
         (!widest->interval        ? ""
          : widest->spreads->apart ? "; the interval allows for it, and further sessions narrow it"
          : widest->spreads->stretch > 1
              ? fmt::format("; the interval is {:.1f} times as wide for it", widest->spreads->stretch)
              : "");
}

/// The metrics and points that a criterion reads.
std::set<std::pair<std::string, std::string>> readBy(const plan::Criterion& criterion) {
  std::set<std::pair<std::string, std::string>> read;
  for (const plan::Cell& cell : criterion.cells) {
    if (!cell.term) continue;
    for (const plan::MetricTerm& term : plan::metricTerms(*cell.term))
      if (term.place.control.empty()) read.emplace(term.metric, term.place.point);
  }
  return read;
}

/// Values that it reads and that lie far from the others of their point.
std::string apartText(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::Description& seen) {
  constexpr size_t kNamed = 3;
  if (seen.outliers.empty()) return "";
  const auto read = readBy(criterion);
  std::vector<std::string> names;
  for (const analysis::Outlier& one : seen.outliers)
    if (read.count({one.metric, one.point}))
      names.push_back(fmt::format("{} of trial {} at {}", one.metric, one.trial, placeText(plan, one.point)));
  if (names.empty()) return "";
  const size_t all = names.size();
  return fmt::format("{} {} far apart from the others of {} point, and count{} as they do: {}", counted(all, "value"),
                     all == 1 ? "lies" : "lie", all == 1 ? "its" : "their", all == 1 ? "s" : "",
                     fewOf(std::move(names), kNamed, "; "));
}

/// The points that a criterion reads, with how their trials ended; a point without trials is left out.
std::vector<const analysis::PointStatus*> statusesOf(const analysis::Judgement& judgement,
                                                     const plan::Criterion& criterion) {
  std::set<std::string> points;
  for (const plan::Cell& cell : criterion.cells)
    for (const plan::Place& place : cell.points) points.insert(place.point);
  std::vector<const analysis::PointStatus*> statuses;
  for (const std::string& point : points)
    if (const auto* status = judgement.status(point, criterion.cells.front().kind)) statuses.push_back(status);
  return statuses;
}

/// Names the trials that timed out, where timeouts are values: worse than all others.
std::string timeoutsText(const analysis::Judgement& judgement, const Judged& of) {
  constexpr size_t kNamed = 4;
  if (std::ranges::none_of(of.result.cells, [](const auto& cell) { return cell.worst.timed_out; })) return "";
  std::vector<std::string> names;
  for (const analysis::PointStatus* status : statusesOf(judgement, of.criterion))
    if (status->timeouts > status->superseded)
      names.push_back(fmt::format("{} of {} at {}", status->timeouts - status->superseded,
                                  status->valid + status->timeouts - status->superseded,
                                  placeText(of.plan, status->point)));
  return names.empty() ? ""
                       : fmt::format("trials that timed out count as worse than every value: {}",
                                     fewOf(std::move(names), kNamed, ", "));
}

/// Counts the notes of a criterion's trials, the most frequent first: "12 of its 28 trials: other processes took over
/// 10 % of its cores".
std::vector<std::string> trialNotes(const plan::Criterion& criterion, const store::Results& results) {
  constexpr size_t kNamed = 3;
  if (criterion.cells.empty()) return {};
  std::set<plan::Place> places;
  for (const plan::Cell& cell : criterion.cells) places.insert(cell.points.begin(), cell.points.end());
  std::map<std::string, unsigned> counts;
  unsigned all = 0;
  for (const store::Trial& trial : results.trials) {
    if (trial.status != store::TrialStatus::Valid || trial.key->kind != criterion.cells.front().kind ||
        !places.count(trial.place()))
      continue;
    ++all;
    for (const std::string& note : trial.notes) ++counts[note];
  }
  std::vector<std::pair<std::string, unsigned>> found(counts.begin(), counts.end());
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  found.resize(std::min(found.size(), kNamed));
  std::vector<std::string> notes;
  for (const auto& [note, count] : found)
    notes.push_back(fmt::format("{} of its {}: {}", count, counted(all, "trial"), note));
  return notes;
}

/// Drift that all points of a block share moves claims about single points; pairs cancel it.
std::vector<std::string> driftNotes(const plan::Criterion& criterion, const analysis::Description& seen) {
  std::vector<std::string> notes;
  if (seen.drifts.empty() || comparesPoints(criterion)) return notes;
  const auto read = readBy(criterion);
  for (const analysis::Drift& drift : seen.drifts)
    if (std::any_of(read.begin(), read.end(), [&](const auto& one) { return one.first == drift.metric; }))
      for (std::string& text : driftTexts(drift)) notes.push_back(std::move(text));
  return notes;
}

/// Why a verdict does not stand as it is printed; "" where it does.
std::string doubtText(const Judged& of) {
  std::string text;
  if (of.result.provisional) text = "the verdict is provisional: trials that it rests on are still to come";
  if (of.result.untrusted)
    text += (text.empty() ? "the verdict is not to be trusted: " : "; it is not to be trusted: ") +
            whyText(of.plan, *of.result.untrusted);
  return text;
}

/// States what `n` single trials without a failure show.
std::string singleTrialsText(const Judged& of, unsigned n) {
  const auto& [plan, criterion, result] = of;
  const bool several = result.cells.size() > 1, pairs = comparesPoints(criterion);
  const bool alike = std::ranges::all_of(result.cells, [&](const auto& cell) { return cell.values.size() == n; });
  const std::string least = alike ? "" : "at least ";
  const std::string trials = pairs
                                 ? fmt::format("{} held in {}{}", several ? "each comparison" : "it",
                                               alike && n > 1 ? "all " : least, counted(n, "pair"))
                                 : fmt::format("{} ran {}{}, without a failure", several ? "each configuration" : "it",
                                               least, n == 1 ? "once" : fmt::format("{} times", n));
  return trials + "; " + withoutFailureText(n, nounOf(criterion), conditionsText(of));
}

/// States how far the numbers behind a verdict can be trusted: the error rate of a claim with a confidence, or the
/// failure rate that single trials without a failure leave open.
std::string certaintyText(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  using analysis::Verdict;
  if (criterion.infeasible || (result.verdict > Verdict::Inconclusive)) return "";
  const bool passes = result.verdict == Verdict::Pass, open = !passes && result.verdict != Verdict::Fail;
  if (!open && restsOnConstants(result))
    return "the values are exact, and the same in every block, each with a seed of its own";
  if (!criterion.confidence) {
    const unsigned n = analysis::singleValues(result);
    return n == 0 ? "" : singleTrialsText(of, n);
  }
  const std::string confidence = analysis::formatConfidence(*criterion.confidence) + " confidence";
  if (result.look && result.look->decided_at)
    return fmt::format("the look after {} repetitions decided it and stands: all looks together keep {}{}",
                       *result.look->decided_at, confidence, conditionsText(of));
  if (result.look)  // errors of single verdicts are known of planned looks only
    return fmt::format("this look's intervals, of {} so that all looks keep {}{}, {} it",
                       analysis::formatConfidence(result.look->confidence), confidence, conditionsText(of),
                       open ? "do not decide" : "decide");
  if (open) return "intervals of " + confidence + " do not decide it";
  return fmt::format("at {}, a claim that {} would {} in at most {} of such studies{}", confidence,
                     passes ? "does not hold" : "holds", passes ? "pass" : "fail",
                     twoDigits((1 - *criterion.confidence) / 2), conditionsText(of));
}

/// "it rests on 7 of 7 pairs in each cell (1 was lost), of 2 sessions on 1 node", by the cell that has the fewest.
std::string countsText(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  const analysis::Scope& scope = result.scope;
  std::string text = "it rests on ";
  if (criterion.infeasible)
    text = "memory ran out in " + counted(scope.complete, "block");
  else if (scope.complete > scope.planned)
    text += fmt::format("{} ({} were planned)", counted(scope.complete, nounOf(criterion)), scope.planned);
  else
    text += fmt::format("{} of {}", scope.complete, counted(scope.planned, nounOf(criterion)));
  const auto as_few = [&](const analysis::CellEstimate& cell) {
    return cell.scope.complete == scope.complete || (criterion.infeasible && cell.verdict != result.verdict);
  };
  const bool all = std::all_of(result.cells.begin(), result.cells.end(), as_few);
  if (criterion.infeasible)
    text += all ? "" : " at the point that has the fewest";
  else if (result.cells.size() > 1)
    text += all ? " in each cell" : " in the cell that has the fewest";
  if (scope.lost) text += fmt::format(" ({} lost)", scope.lost);
  if (scope.sessions) text += ", of " + counted(scope.sessions, "session");
  if (scope.nodes) text += " on " + counted(scope.nodes, "node");
  return text;
}

/// "gpus 1, 2 of 1..4; CPU cores in place of GPUs".
std::string testedText(const Judged& of, const store::Results& results) {
  const std::string& domain = of.criterion.domain;
  if (of.result.scope.complete == 0 || !coresStandForGpus(of.plan, results)) return domain;
  return (domain.empty() ? "" : domain + "; ") + "CPU cores in place of GPUs";
}

}  // namespace

std::vector<Judged> judgedOf(const plan::Plan& plan, const analysis::Judgement& judgement) {
  std::vector<Judged> all;
  for (const analysis::CriterionResult& result : judgement.criteria)
    if (const plan::Criterion* criterion = plan::named(plan.criteria, result.name))
      all.push_back({plan, *criterion, result});
  return all;
}

double confidenceShown(const Judged& of) {
  double least = of.result.look ? of.result.look->confidence : of.criterion.confidence.value_or(analysis::kConfidence);
  for (const analysis::CellEstimate& cell : of.result.cells)  // an earlier look may have given a narrower interval
    if (cell.interval && of.result.look) least = std::min(least, cell.confidence);
  return least;
}

std::string intervalTitle(const Judged& of) {
  const double own = confidenceShown(of);
  return (own == analysis::kConfidence ? "" : analysis::formatConfidence(own) + " ") + "interval";
}

std::string ownConfidenceText(const plan::Criterion& criterion, const analysis::CellEstimate& cell) {
  if (!cell.uncorrected || !cell.interval || cell.confidence <= criterion.confidence.value_or(1)) return "";
  return fmt::format(" ({} interval)", analysis::formatConfidence(cell.confidence));
}

std::string twoDigits(double share) { return fmt::format("{:.2g} %", 100 * share); }

const char* nounOf(const plan::Criterion& criterion) { return comparesPoints(criterion) ? "pair" : "trial"; }

bool comparesPoints(const plan::Criterion& criterion) {
  return std::any_of(criterion.cells.begin(), criterion.cells.end(),
                     [](const plan::Cell& cell) { return cell.points.size() > 1; });
}

std::vector<std::string> saidOnce(const std::string& above, const std::vector<Words>& reasons) {
  std::set<std::string> said;
  const auto keyOf = [](const Words& one) { return one.cause.empty() ? one.text : one.cause; };
  for (const Words& one : reasons)
    if (!one.text.empty() && above.find(one.text) != std::string::npos) said.insert(keyOf(one));
  const bool alike = reasons.size() > 1 && std::ranges::all_of(reasons, [&](const Words& one) {
                       return !one.text.empty() && one.text == reasons.front().text;
                     });
  return textsOf(reasons, [&](const Words& one) -> std::string {
    if (alike) return said.insert(keyOf(one)).second ? "all rows: " + one.text : "";
    if (one.cause.empty()) return said.contains(one.text) ? "" : one.text;
    return said.insert(one.cause).second ? one.text : one.text.substr(0, one.text.size() - one.cause.size() - 2);
  });
}

std::vector<MissingThing> missingThings(const plan::Plan& plan, const analysis::Judgement& judgement) {
  std::vector<MissingThing> things;
  for (const analysis::Missing& one : judgement.missing)
    things.push_back({one.what, inWords(plan, one.why).text, one.verdict});
  return things;
}

std::string missingText(const MissingThing& missing) {
  return fmt::format("{} {}: {}", analysis::meaningOf(missing.verdict).word, missing.what, missing.why);
}

std::string markedVerdict(const analysis::CriterionResult& result) {
  std::string text(analysis::meaningOf(result).word);
  for (const std::string& mark : marksOf(result)) text += " (" + mark + ")";
  return text;
}

std::vector<std::string> marksOf(const analysis::CriterionResult& result) {
  std::vector<std::string> marks;
  if (result.provisional) marks.emplace_back("provisional");
  if (result.untrusted) marks.emplace_back("untrusted");
  if (analysis::meaningOf(result).stands == analysis::Meaning::Stands::Little)
    marks.push_back(fmt::format("n={}", analysis::singleValues(result)));
  return marks;
}

std::string moreBlocksText(const analysis::NextStep& next) {
  return counted(next.blocks, "more block") + (next.seconds ? " (" + durationText(*next.seconds) + ")" : "");
}

std::string worthText(const Judged& of) {
  if (of.result.verdict == analysis::Verdict::NotAsked) return "";
  const std::string doubt = doubtText(of);
  return doubt.empty() ? certaintyText(of) : doubt;
}

std::string unevenLossText(const analysis::Judgement& judgement, const Judged& of) {
  constexpr size_t kNamed = 4;
  constexpr double kUneven = 0.1;
  struct Arm {
    double share;
    std::string text;
  };
  std::vector<Arm> arms;
  for (const analysis::PointStatus* status : statusesOf(judgement, of.criterion)) {
    const unsigned lost = status->failed + status->infeasible + status->invalid;
    const unsigned all = lost + status->valid + status->timeouts;
    arms.push_back({double(lost) / std::max(1u, all),
                    fmt::format("{} of {} at {}", lost, all, placeText(of.plan, status->point))});
  }
  std::ranges::stable_sort(arms, std::greater(), &Arm::share);
  if (arms.empty() || arms.front().share - arms.back().share < kUneven) return "";
  std::vector<std::string> names;
  for (size_t i = 0; i < arms.size() && i < kNamed; ++i) names.push_back(arms[i].text);
  if (arms.size() > kNamed) names.push_back("least " + arms.back().text);
  return "lost trials (failed, disturbed or out of memory): " + joined(names) +
         "; if losses depend on what is measured, the remaining trials are biased";
}

std::string lookText(const Judged& of) {
  if (!of.result.look || !of.criterion.confidence) return "";
  const analysis::Look& look = *of.result.look;
  std::string before;
  for (const unsigned repetitions : look.before)
    before += fmt::format("{}{}", before.empty() ? "before: after " : ", ", repetitions);
  if (!before.empty()) before += "; ";
  std::string text =
      fmt::format("look {} ({}{} of {} repetitions now): its intervals have {}, so that all looks together keep {}",
                  look.before.size() + 1, before, look.now, look.of, analysis::formatConfidence(look.confidence),
                  analysis::formatConfidence(*of.criterion.confidence));
  if (look.decided_at) text += fmt::format("; the verdict of the look after {} stands", *look.decided_at);
  if (look.unread > 0)
    text += fmt::format("; what {} judged cannot be read any more, so {} as {} at this claim",
                        counted(look.unread, "earlier run"), look.unread == 1 ? "it counts" : "they count",
                        look.unread == 1 ? "a look" : "looks");
  return text;
}

std::string otherLooksText(const analysis::CriterionResult& result) {
  if (result.other_looks == 0) return "";
  return fmt::format("{}, at {} of the program, {} not counted", counted(result.other_looks, "earlier look"),
                     result.other_looks == 1 ? "another version" : "other versions",
                     result.other_looks == 1 ? "is" : "are");
}

std::string surenessText(const Judged& of) {
  if (of.result.verdict == analysis::Verdict::NotAsked) return "";
  const std::string worth = worthText(of);
  return (worth.empty() ? "" : worth + "; ") + countsText(of);
}

std::vector<Fact> verdictFacts(const analysis::Findings& findings, const Judged& of) {
  const auto& [plan, criterion, result] = of;
  const analysis::Description& seen = *findings.judgement.description;
  const std::string line = whyText(of);
  std::vector<Fact> facts{{"claim", criterion.doc},
                          {"where", criterion.where, "", true},
                          {"result", line, "result"},
                          {"how sure", surenessText(of), marksOf(result).empty() ? "" : "warns"},
                          {result.scope.complete ? "tested" : "about", testedText(of, findings.results)},
                          {"note", lookText(of)},
                          {"note", otherLooksText(result)},
                          {"note", sessionsText(of)},
                          {"note", apartText(plan, criterion, seen)}};
  const auto note = [&](std::vector<std::string> texts) {
    for (std::string& text : texts) facts.push_back({"note", std::move(text)});
  };
  note(widerNotes(of, line));
  if (result.unshown) facts.push_back({"note", whyText(plan, *result.unshown)});
  facts.push_back({"note", unevenLossText(findings.judgement, of), "warns"});
  facts.push_back({"note", timeoutsText(findings.judgement, of)});
  note(driftNotes(criterion, seen));
  note(trialNotes(criterion, findings.results));
  facts.push_back({"next", nextStepText(criterion, result)});
  std::erase_if(facts, [](const Fact& one) { return one.text.empty(); });
  return facts;
}

std::string cellLine(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell) {
  if (cell.cell >= criterion.cells.size()) return "";
  const plan::Cell& planned = criterion.cells[cell.cell];
  const auto bounds = plan::ends(plan::boundOf(criterion, planned));
  const std::string_view dimension = analysis::dimensionOf(plan, planned);
  std::string line = analysis::cellLabel(criterion.factors, planned);
  if (!line.empty()) line += ": ";
  const analysis::EstimateText text =
      partsOf(gridCell(plan, planned, cell), criterion.unit, std::string(dimension), bounds);
  line += text.estimate.empty() ? "no estimate" : text.estimate;
  if (!text.interval.empty()) line += " " + text.interval + ownConfidenceText(criterion, cell);
  line += fmt::format(", n={}", cell.scope.complete);
  const std::string why = whyText(plan, criterion, cell).text;
  return why.empty() ? line : line + ": " + why;
}

}  // namespace expc::report
