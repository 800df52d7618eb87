// Explains a verdict in numbers: a criterion with its judged cells comes in, one sentence goes out. The sentence names
// the cell that matters most: the weakest that passes, the worst that fails, the first that is open. Reasons for
// missing values are left to reasons.cpp, and conditions to conditions_text.cpp.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/judge/cells.h"
#include "runtime/judge/format.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/labels.h"
#include "runtime/report/cell_choice.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {
namespace {

using judge::CellEstimate;
using judge::CellState;
using judge::Verdict;
using plan::Reason;
using plan::Relation;

/// Names the estimate, or value, with the least margin to a bound.
std::string_view extreme(const plan::Bound& bound) {
  static constexpr base::Word<Relation> kExtremes[] = {
      {"smallest", Relation::GreaterEqual}, {"smallest", Relation::Greater}, {"largest", Relation::LessEqual},
      {"largest", Relation::Less},          {"farthest", Relation::Equal},   {"closest to an end", Relation::Within}};
  return base::wordOf(kExtremes, bound.relation);
}

/// Names the estimate that is closest to breaking a bound: "smallest estimate".
std::string extremeEstimate(const plan::Bound& bound) {
  if (bound.relation == plan::Relation::Within) return "estimate closest to an end";
  return std::string(extreme(bound)) + " estimate";
}

/// Whether a term is the place at which a series reaches a bound (`epochs_to`), directly or by the name of a metric.
bool isFirst(const plan::Plan& plan, const plan::Term& term) {
  const auto* read = std::get_if<plan::MetricTerm>(&term.node);
  const plan::Metric* metric = read ? plan.findMetric(read->metric) : nullptr;
  if (metric && metric->derived) return isFirst(plan, *metric->derived);
  return std::holds_alternative<plan::FirstTerm>(term.node);
}

std::string cellCount(size_t count) { return counted(count, "configuration"); }

/// Returns the number of what a cell counts: "1 pair", "7 trials".
std::string countNoun(const plan::Cell& cell, size_t count) { return counted(count, nounOf(cell)); }

const char* are(size_t count) { return count == 1 ? "is" : "are"; }

/// Explains the cells of one criterion, and the criterion from them. Cells are addressed by their index in the results.
class Explainer : CellChoice {
 public:
  using CellChoice::CellChoice;

  /// Explains a cell: "" if it passes, else for example "1.18x [1.10x, 1.25x] does not decide >= 1.2x". The order of
  /// the cases matters: a stated reason comes before numbers.
  Words cell(size_t index) const {
    const CellEstimate& cell = cells_[index];
    const bool told = cell.why && (cell.why->code == Reason::Said || cell.why->code == Reason::OnNullCards);
    if (told || isInfeasible(criterion_, planned(index))) return inWords(plan_, cell.why);
    if (cell.verdict == Verdict::Pass) return {};
    if (cell.state != CellState::Measured) return inWords(plan_, cell.why);
    if (cell.unusable && cell.verdict != Verdict::Fail) return {inWords(plan_, cell.unusable).text};
    if (!criterion_.confidence) return {trialsOf(index)};
    if (cell.verdict == Verdict::Fail) return {shown(index) + " is " + violation(bound(index))};
    if (cell.uncorrected) return {notAfterCorrection(index)};
    if (!cell.interval) return inWords(plan_, cell.why);
    const std::string steps = cell.steps ? "; " + stepsText(plan_, planned(index), *cell.steps) : "";
    return {.text = shown(index) + " includes the bound " + endText(bound(index)) + steps, .steps = cell.steps};
  }

  /// Returns the cell that tells most about a verdict, and for a claim on single trials the value in it.
  std::optional<Telling> telling(Verdict verdict) const {
    const std::vector<size_t> passing = with(Verdict::Pass), failing = with(Verdict::Fail);
    Telling one;
    const auto chosen = [&](std::optional<size_t> index) -> std::optional<Telling> {
      if (!index) return std::nullopt;
      one.cell = *index;
      const std::optional<double>& number = one.value ? one.value : cells_[*index].estimate;
      if (number) one.shown = value(*index, *number);
      return one;
    };
    // A claim on single trials is told by one value, whichever cell it is in.
    const auto single = [&](const std::vector<size_t>& among) {
      // One part is enough for an exists, so the others' values say nothing of it.
      std::vector<size_t> counted = among;
      if (forall() || verdict == Verdict::Fail)
        counted.resize(cells_.size()), std::iota(counted.begin(), counted.end(), 0);
      for (const size_t i : counted) one.values += cells_[i].values.size(), one.broken += brokenOf(i);
      if (cells_[worst(among)].values.empty()) return chosen(worst(among));
      const auto [index, number] = worstValue(among);
      one.value = number;
      return chosen(index);
    };
    if (verdict == Verdict::Pass && !passing.empty()) {
      const std::vector<size_t> among = forall() ? passing : surestPart();
      if (among.empty()) return std::nullopt;
      if (!criterion_.confidence) return single(among);
      return chosen(forall() ? *std::ranges::min_element(among, {}, [&](size_t i) { return estimateMargin(i); })
                             : worst(among));
    }
    if (verdict == Verdict::Fail && !failing.empty()) {
      if (!criterion_.confidence) return single(forall() ? failing : std::vector<size_t>{best(failing)});
      return chosen(forall() ? worst(failing) : best(failing));
    }
    std::vector<size_t> open = with(verdict);
    if (open.empty()) open = with(Verdict::Inconclusive);
    return chosen(open.empty() ? std::nullopt : std::optional(open.front()));
  }

  /// The assertions by which a claim of several holds, each once.
  std::vector<std::string> heldBy() const {
    std::vector<std::string> texts;
    for (const size_t index : holding(criterion_.claim))
      if (const plan::Assertion* of = assertionOf(criterion_, planned(index)))
        if (!std::ranges::count(texts, of->text)) texts.push_back(of->text);
    return texts;
  }

  /// Explains a verdict of the criterion: "all 4 cells are >= 1.2x at 95 % confidence: the smallest estimate is 1.52x
  /// [1.48x, 1.57x]".
  VerdictLine line(Verdict verdict) {
    std::string text = criterion(verdict);
    return {std::move(text), std::move(told_)};
  }

 private:
  /// The reason of a cell in the line.
  std::string tell(size_t index) { return told_.emplace_back(cell(index)).text; }

  std::string criterion(Verdict verdict) {
    switch (verdict) {
      case Verdict::Pass:
        return passes() + soFar();
      case Verdict::Fail:
        return fails() + soFar();
      case Verdict::Inconclusive:
      case Verdict::Broken:
        return undecided();
      case Verdict::Infeasible:
      case Verdict::NotRun: {
        if (cells_.size() == 1) return tell(0);
        const bool memory = verdict == Verdict::Infeasible;
        return fmt::format("{} {}: {}", memory ? "out of memory in all" : "not measured yet in",
                           cellCount(cells_.size()), tell(0));
      }
      case Verdict::NotAsked:
        break;
    }
    return "";
  }

  /// Explains a cell of a claim without confidence, which is about every single trial.
  std::string trialsOf(size_t index) const {
    const CellEstimate& cell = cells_[index];
    const size_t count = brokenOf(index);
    const std::string trials = countNoun(planned(index), cell.scope.complete);
    if (count > 0) return fmt::format("{} of {} {} {}", count, trials, are(count), violation(bound(index)));
    return fmt::format("{} so far {} {}, of {} planned", trials, are(cell.scope.complete), bound(index).text,
                       cell.scope.planned);
  }

  /// Explains a cell that its own interval would decide and Holm's correction leaves open.
  std::string notAfterCorrection(size_t index) const {
    const CellEstimate& cell = cells_[index];
    const std::string open = cell.interval
                                 ? fmt::format("{} includes the bound {}", shown(index), endText(bound(index)))
                                 : inWords(plan_, cell.why).text;
    return fmt::format("{}, after Holm's correction for {}; uncorrected it is {}", open,
                       cellCount(criterion_.cells.size()), withInterval(index, *cell.uncorrected));
  }

  std::string_view dimension(size_t index) const { return judge::dimensionOf(plan_, planned(index)); }

  /// Explains a pass by the cell that is closest to its bound.
  std::string passes() const {
    const std::vector<size_t> passing = with(Verdict::Pass);
    if (passing.empty()) return "the claim holds in every case";
    if (isComposed(criterion_)) return composedPass();
    if (!forall()) return somePass();
    if (!criterion_.confidence) return everyTrialPasses(passing);
    const size_t shown_cell =
        *std::ranges::min_element(passing, {}, [&](size_t index) { return estimateMargin(index); });
    if (cells_.size() == 1) return prefix(0) + shown(0) + " is " + bound(0).text;
    // The claim is stated at its confidence. The named cell has the extreme estimate, which need not be the one with
    // the weakest interval.
    const bool exact = std::ranges::all_of(passing, [&](size_t index) { return cells_[index].constant; });
    return fmt::format(
        "{} {} {} {}{}: the {} is {}", passing.size() == cells_.size() ? "all" : fmt::format("{} of", passing.size()),
        cellCount(cells_.size()), are(passing.size()), holds(),
        exact ? "" : " at " + judge::formatConfidence(*criterion_.confidence) + " confidence",
        exact ? std::string(extreme(bound(shown_cell))) : extremeEstimate(bound(shown_cell)),
        ownBounds() ? prefix(shown_cell) + shown(shown_cell) + ", " + bound(shown_cell).text : shown(shown_cell));
  }

  /// Explains the pass of an exists: the parts that hold, and the one that holds most surely.
  std::string somePass() const {
    constexpr size_t kNamed = 6;
    std::vector<std::string> names;
    const std::vector<size_t> surest = surestPart();
    size_t count = 0;
    for (const plan::Claim& part : criterion_.claim.children)
      if (!holding(part).empty() && ++count <= kNamed) names.push_back(commonLabel(cellsOf(part)));
    if (count == 0) return "the claim holds in some case";
    if (count > kNamed) names.push_back("…");
    const size_t shown_cell = worst(surest);
    return fmt::format("holds at {} ({} of {}{}; one is enough){}: ", fmt::join(names, ", "), count,
                       criterion_.claim.children.size(), criterion_.confidence ? ", Holm-corrected" : "",
                       count > 1 ? "; the surest" : "") +
           (criterion_.confidence
                ? fmt::format("{}{} is {}", prefix(shown_cell), shown(shown_cell), bound(shown_cell).text)
                : everyTrialPasses(surest));
  }

  /// Explains cells all of which pass in every trial.
  std::string everyTrialPasses(const std::vector<size_t>& passing) const {
    size_t trials = 0;
    for (const size_t index : passing) trials += cells_[index].values.size();
    const auto [chosen, shown_value] = worstValue(passing);
    const std::string place = label(chosen);
    const std::string count = countNoun(planned(chosen), trials);
    std::string text = trials == 1 ? count : "all " + count;
    text +=
        fmt::format(" {} {}: the {} is {}", are(trials), holds(), extreme(bound(chosen)), value(chosen, shown_value));
    return place.empty() ? text : text + " at " + place;
  }

  /// Explains the pass of a claim with parts: how many hold, by which assertions, and the cell that is closest to its
  /// bound.
  std::string composedPass() const {
    const std::vector<size_t> held = holding(criterion_.claim);
    if (held.empty()) return "every part of the claim holds";
    std::string text = heldParts(fmt::format("{} enough", are(criterion_.claim.least)));
    if (text.empty()) text = "it holds";
    std::vector<std::string> names;
    for (const std::string& assertion : heldBy()) {
      const auto of = std::ranges::count_if(
          held, [&](size_t index) { return assertionOf(criterion_, planned(index))->text == assertion; });
      names.push_back(fmt::format("'{}'{}", assertion, held.size() > 1 ? " in " + cellCount(size_t(of)) : ""));
    }
    if (!names.empty()) text += fmt::format(" by {}", fmt::join(names, " and "));
    const size_t chosen = worst(held);
    return fmt::format("{}{}: {}{}", text, held.size() > 1 ? "; the closest" : "", prefix(chosen), partOf(chosen));
  }

  /// Counts the parts of an `at least` that hold: "2 of 4 parts hold (3 must)"; "" for another claim.
  std::string heldParts(std::string_view needed) const {
    const plan::Claim& root = criterion_.claim;
    if (root.kind != plan::Claim::Kind::AtLeast) return "";
    const auto parts = std::ranges::count_if(root.children, [&](const auto& part) { return !holding(part).empty(); });
    return fmt::format("{} of {} parts hold ({} {})", parts, root.children.size(), root.least, needed);
  }

  /// Explains one cell of a claim with parts, which passes or fails.
  std::string partOf(size_t index) const {
    const CellEstimate& cell = cells_[index];
    if (isInfeasible(criterion_, planned(index)) || cell.verdict == Verdict::Infeasible)
      return inWords(plan_, cell.why).text;
    const bool holds = cell.verdict == Verdict::Pass;
    if (!criterion_.confidence) return holds ? everyTrialPasses({index}) : trialsOf(index);
    return fmt::format("{} is {}", shown(index), holds ? bound(index).text : violation(bound(index)));
  }

  /// Explains the failure of a claim with parts by the cells that make it fail.
  std::string composedFail() {
    constexpr size_t kNamed = 3;
    const std::vector<size_t> failed = failing(criterion_.claim);
    std::vector<std::string> texts;
    for (const size_t index : failed)
      if (texts.size() < kNamed) texts.push_back(prefix(index) + partOf(index));
    if (texts.empty()) return "some part of the claim fails";
    if (failed.size() > kNamed) texts.push_back(fmt::format("and {} more", cellCount(failed.size() - kNamed)));
    const std::string parts = heldParts("must");
    return fmt::format("{}{}{}", parts, parts.empty() ? "" : ": ", fmt::join(texts, "; "));
  }

  /// Explains a failure by the worst cell, and by points that ran out of memory.
  std::string fails() {
    if (isComposed(criterion_)) return composedFail();
    const std::vector<size_t> memory = with(Verdict::Infeasible), failing = with(Verdict::Fail);
    if (!forall()) {
      const std::vector<size_t>& among = failing.empty() ? memory : failing;
      if (among.empty()) return "the claim holds in no case";
      const size_t chosen = best(among);
      const std::string detail = failing.empty() ? tell(chosen) : prefix(chosen) + shown(chosen);
      return fmt::format("none of {} is {}: the closest is {}", cellCount(cells_.size()), holds(), detail);
    }
    if (failing.empty() && memory.empty()) return "the claim fails in some case";
    if (failing.empty()) {
      const std::string why = tell(memory.front());
      return cells_.size() == 1
                 ? why
                 : fmt::format("{} of {} ran out of memory: {}", memory.size(), cellCount(cells_.size()), why);
    }
    std::string text;
    if (criterion_.confidence) {
      const size_t chosen = worst(failing);
      if (cells_.size() == 1) tell(chosen);  // in the same words
      text = cells_.size() == 1
                 ? prefix(chosen) + shown(chosen) + " is " + violation(bound(chosen))
                 : fmt::format("{} of {} {} {} (Holm-corrected): the worst is {}{}", failing.size(),
                               cellCount(cells_.size()), are(failing.size()), breaks(), prefix(chosen), shown(chosen));
    } else {
      text = trialsFail();
    }
    return memory.empty() ? text : text + "; also " + tell(memory.front());
  }

  /// Explains a failure by single trials: how many, and the worst value.
  std::string trialsFail() {
    size_t broken = 0, trials = 0;
    std::vector<size_t> all;
    for (size_t i = 0; i < cells_.size(); ++i) {
      all.push_back(i);
      trials += cells_[i].values.size();
      broken += brokenOf(i);
    }
    const auto [chosen, shown_value] = worstValue(all);
    const std::string place = label(chosen);
    if (cells_.size() == 1 && !ownBounds()) tell(0);  // it begins so
    return fmt::format("{} of {} {} {}: {} got {}", broken, countNoun(planned(chosen), trials), are(broken), breaks(),
                       place.empty() ? "the worst" : place, value(chosen, shown_value));
  }

  /// Explains an open verdict by the first cell that is broken, else by the first that is open.
  std::string undecided() {
    std::vector<size_t> open = with(Verdict::Broken);
    const char* word = open.empty() ? "undecided" : "broken";
    if (open.empty()) {
      open = with(Verdict::Inconclusive);
      for (const size_t index : with(Verdict::NotRun)) open.push_back(index);
      if (!forall())
        for (const size_t index : with(Verdict::Infeasible)) open.push_back(index);
    }
    if (open.empty()) return "undecided";
    const std::string why = tell(open.front());
    // Reasons about points name these already, so the cell's label would repeat them.
    const bool named = cells_[open.front()].state != CellState::Measured;
    const std::string reason = (named ? "" : prefix(open.front())) + why;
    // A reason about single trials counts them already.
    const std::string so_far = named || criterion_.confidence ? soFar() : "";
    if (cells_.size() == 1) return reason + so_far;
    return fmt::format("{} of {} {} {}: {}{}", open.size(), cellCount(cells_.size()), are(open.size()), word, reason,
                       so_far);
  }

  /// Formats the estimate of a cell: "1.52x [1.48x, 1.57x]", "7.00 GiB (constant)".
  std::string shown(size_t index) const {
    const CellEstimate& estimate = cells_[index];
    if (estimate.estimate && std::isinf(*estimate.estimate)) return value(index, *estimate.estimate);
    if (cells_[index].constant && estimate.estimate) return value(index, *estimate.estimate) + " (constant)";
    if (estimate.interval) return withInterval(index, *estimate.interval) + ownConfidenceText(criterion_, estimate);
    return estimate.estimate ? value(index, *estimate.estimate) : "no value";
  }

  /// Formats a cell's estimate with an interval, with digits that tell both from the bound.
  std::string withInterval(size_t index, const stats::Interval& interval) const {
    const std::optional<double>& estimate = cells_[index].estimate;
    const std::vector<double> bounds = ends(bound(index));
    return estimate ? judge::formatEstimate(*estimate, interval, unitOf(criterion_, planned(index)), dimension(index),
                                            bounds)
                    : judge::formatInterval(interval, unitOf(criterion_, planned(index)), dimension(index), bounds);
  }

  /// Formats a value of a cell; an infinite one by what it stands for.
  std::string value(size_t index, double number) const {
    if (std::isinf(number)) {
      const plan::Worst& worst = cells_[index].worst;
      if (worst.diverged) return worst.timed_out ? "a value that diverged, or a timeout" : "a value that diverged";
      if (worst.timed_out) return "a timeout";
      return isFirst(plan_, *planned(index).term) ? "a series that never reached its bound" : "no finite value";
    }
    return judge::formatAgainst(number, ends(bound(index)), unitOf(criterion_, planned(index)), dimension(index));
  }

  /// Returns the label of a cell: "precision=fp32 gpus=2"; "" for a single cell without labels.
  std::string label(size_t index) const { return cellLabel(plan_, criterion_, planned(index)); }

  /// Returns the part of the label that these cells share and others do not: "level=19" of all its threads.
  std::string commonLabel(const std::vector<size_t>& cells) const {
    const std::vector<unsigned>& first = planned(cells[0]).levels;
    const std::vector<std::string> labels = plan_.levelLabels(criterion_.factors, planned(cells[0]));
    std::string text;
    for (size_t factor = 0; factor < labels.size(); ++factor) {
      const auto same = [&](const plan::Cell& cell) { return cell.levels[factor] == first[factor]; };
      if (std::ranges::all_of(cells, [&](size_t index) { return same(planned(index)); }) &&
          !std::ranges::all_of(criterion_.cells, same))
        plan::addLabel(text, criterion_.factors[factor], labels[factor]);
    }
    return text.empty() ? label(cells[0]) : text;
  }

  /// Returns the label as a prefix: "precision=fp32: "; "" without one.
  std::string prefix(size_t index) const {
    const std::string text = label(index);
    return text.empty() ? "" : text + ": ";
  }

  /// Whether cells have bounds of their own, as in agreement with a reference.
  bool ownBounds() const {
    return std::any_of(criterion_.cells.begin(), criterion_.cells.end(),
                       [](const plan::Cell& cell) { return cell.bound.has_value(); });
  }

  /// Returns the bound that all cells are held to, and its opposite: ">= 1.2x" and "below 1.2x".
  std::string holds() const { return ownBounds() ? "within the published bands" : bound(0).text; }

  std::string breaks() const { return ownBounds() ? "outside the published bands" : violation(bound(0)); }

  /// Returns "; 4 of 10 pairs so far" while the design still wants trials.
  std::string soFar() const {
    for (size_t i = 0; i < cells_.size(); ++i) {
      const judge::Scope& scope = cells_[i].scope;
      if (!cells_[i].unfinished || scope.complete == 0) continue;
      return fmt::format("; {} of {} so far", scope.complete, countNoun(planned(i), scope.planned));
    }
    return "";
  }

  /// The reasons of cells that the line has told so far.
  std::vector<Words> told_;
};

}  // namespace

/// A line that is one reason; empty without one.
static VerdictLine lineOf(const plan::Plan& plan, const plan::Why& why) {
  const Words words = inWords(plan, why);
  return {words.text, {words}};
}

VerdictLine memoryLine(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  using judge::CellEstimate;
  using judge::Verdict;
  const std::vector<CellEstimate>& cells = result.cells;
  const auto said = [&](const auto& cell) { return lineOf(plan, cell == cells.end() ? plan::Why() : cell->why); };
  if (cells.size() == 1) return said(cells.begin());
  const auto has_verdict = [&](const CellEstimate& cell) { return cell.verdict == result.verdict; };
  const std::string all = counted(cells.size(), "point");
  const bool all_hold = std::ranges::all_of(cells, has_verdict) && criterion.claim.kind != plan::Claim::Kind::Exists;
  if (result.verdict == Verdict::Pass && all_hold) {
    const bool one_block = std::ranges::any_of(
        cells, [](const CellEstimate& cell) { return cell.why && cell.why->code == Reason::RanOutInOnlyBlock; });
    return {one_block ? fmt::format("all {} ran out of memory, some in their only block{}", all, kOneBlock)
                      : fmt::format("all {} ran out of memory in {} blocks or more", all, judge::kInfeasibleBlocks)};
  }
  // The first cell with the verdict explains it; without one the first that does not pass.
  const auto explains = std::ranges::find_if(cells, has_verdict);
  if (explains != cells.end()) {
    VerdictLine line = said(explains);
    line.text = fmt::format("{} of {}: {}", std::ranges::count_if(cells, has_verdict), all, line.text);
    return line;
  }
  return said(std::ranges::find_if(cells, [](const CellEstimate& cell) { return cell.verdict != Verdict::Pass; }));
}

VerdictLine lineOf(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  if (result.why) return lineOf(plan, result.why);
  if (criterion.infeasible) return memoryLine(of);
  VerdictLine line = Explainer(plan, criterion, result.cells).line(result.verdict);
  if (!result.look || result.verdict > Verdict::Inconclusive) return line;
  // Tables beside this line have 95 % intervals, so an interim analysis with wider ones says its confidence.
  const bool corrected =
      std::ranges::any_of(result.cells, [](const auto& cell) { return cell.uncorrected.has_value(); });
  const double shown = confidenceShown(of);
  if (result.look->decided_at)
    line.text += fmt::format(" (decided after {})", *result.look->decided_at);
  else if (!corrected && shown > *criterion.confidence + 1e-9)
    line.text += fmt::format(" (intervals of {})", judge::formatConfidence(shown));
  return line;
}

std::string whyText(const Judged& of) { return lineOf(of).text; }

std::vector<std::string> heldBy(const Judged& of) {
  if (of.result.verdict != judge::Verdict::Pass) return {};
  return Explainer(of.plan, of.criterion, of.result.cells).heldBy();
}

std::string cellLabel(const plan::Plan& plan, const plan::Criterion& criterion, const plan::Cell& cell) {
  std::string text = judge::cellLabel(plan, criterion.factors, cell);
  if (const plan::Assertion* of = assertionOf(criterion, cell)) text += (text.empty() ? "" : ", ") + of->text;
  return text;
}

std::optional<Telling> tellingOf(const Judged& of) {
  return Explainer(of.plan, of.criterion, of.result.cells).telling(of.result.verdict);
}

Words whyText(const plan::Plan& plan, const plan::Criterion& criterion, const CellEstimate& cell) {
  return cell.cell < criterion.cells.size() ? Explainer(plan, criterion, {&cell, 1}).cell(0) : Words();
}

}  // namespace expc::report
