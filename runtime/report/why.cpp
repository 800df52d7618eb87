// Explains a verdict in numbers: a criterion with its judged cells comes in, one sentence goes out. The sentence names
// the cell that matters most: the weakest that passes, the worst that fails, the first that is open. Reasons for
// missing values are left to reasons.cpp, and conditions to conditions_text.cpp.

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
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

using judge::CellState;
using plan::Reason;
using plan::Relation;

/// Whether a term is the place at which a series reaches a bound (`epochs_to`), directly or by the name of a metric.
bool isFirst(const Plan& plan, const plan::Term& term) {
  const auto* read = term.as<MetricTerm>();
  const Metric* metric = read ? plan.findMetric(read->metric) : nullptr;
  if (metric && metric->derived) return isFirst(plan, *metric->derived);
  return term.as<plan::FirstTerm>();
}

std::string cellCount(size_t count) { return counted(count, "configuration"); }

/// Returns "all 6 runs are", "both pairs are" or "the only run is".
std::string allAre(size_t count, const char* noun) {
  if (count == 1) return fmt::format("the only {} is", noun);
  return count == 2 ? fmt::format("both {}s are", noun) : fmt::format("all {} {}s are", count, noun);
}

const char* are(size_t count) { return count == 1 ? "is" : "are"; }

/// Explains the cells of one criterion, and the criterion from them. Cells are addressed by their index in the results.
class Explainer : CellChoice {
 public:
  using CellChoice::CellChoice;

  /// Explains a cell beside its estimate and interval: "" if it passes, else for example "includes the bound 1.2x". The
  /// order of the cases matters: a stated reason comes before numbers.
  Words cell(size_t index) const {
    const CellEstimate& cell = cells_[index];
    if (isTold(index) || isInfeasible(criterion_, planned(index))) return inWords(plan_, cell.why);
    if (cell.verdict == Verdict::Pass) return {};
    if (cell.state != CellState::Measured) return inWords(plan_, cell.why);
    if (isAbsence(planned(index))) return {absence({index})};
    if (cell.unusable && cell.verdict != Verdict::Fail) return {inWords(plan_, cell.unusable).text};
    if (!criterion_.confidence) return {trialsOf(index)};
    if (cell.verdict == Verdict::Fail) return {breaks(index)};
    if (cell.uncorrected) return {notAfterCorrection(index)};
    if (!cell.interval) return inWords(plan_, cell.why);
    const std::string steps = cell.steps ? "; " + stepsText(plan_, planned(index), *cell.steps) : "";
    return {.text = "includes the bound " + end(index) + steps, .steps = cell.steps};
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
      return chosen(worst(among));
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
      if (const plan::Assertion* of = assertionOf(criterion_, planned(index))) base::addOnce(texts, of->text);
    return texts;
  }

  /// Explains a verdict of the criterion: "at least 1.2x in both configurations at 95 % confidence; closest to the
  /// bound: 1.52x [1.48x, 1.57x] at gpus=1".
  VerdictLine line(Verdict verdict) {
    std::string text = criterion(verdict);
    return {std::move(text), std::move(told_), std::move(reason_)};
  }

 private:
  /// Whether the reason of a cell was stated, and does not come from its numbers.
  bool isTold(size_t index) const {
    const plan::Why& why = cells_[index].why;
    return why && (why->code == Reason::Said || why->code == Reason::OnNullCards);
  }

  /// Returns the reason of a cell in the line, behind the interval that it is about.
  std::string tell(size_t index) {
    const CellEstimate& cell = cells_[index];
    const std::string& text = told_.emplace_back(this->cell(index)).text;
    const bool numbers = criterion_.confidence && cell.interval && cell.state == CellState::Measured &&
                         !isTold(index) && (cell.verdict == Verdict::Fail || !cell.unusable);
    return numbers ? shown(index) + (cell.verdict == Verdict::Fail ? ", " : " ") + text : text;
  }

  /// Counts the runs that have a value of what is claimed to be absent: "a value in 2 of 8 runs".
  std::string absence(const std::vector<size_t>& among) const {
    size_t all = 0, have = 0;
    for (const size_t index : among) all += cells_[index].values.size(), have += brokenOf(index);
    return have == 0 ? fmt::format("no value in {}", counted(all, "run"))
                     : fmt::format("a value in {} of {}", have, counted(all, "run"));
  }

  std::string criterion(Verdict verdict) {
    if (!isComposed(criterion_) && isAbsence(planned(0)) && verdict <= Verdict::Fail) {
      std::vector<size_t> all(cells_.size());
      std::iota(all.begin(), all.end(), size_t{0});
      return absence(all) + (verdict == Verdict::Fail ? at(with(verdict).front()) : "") + soFar();
    }
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
        if (std::ranges::all_of(cells_,
                                [](const CellEstimate& one) { return one.why && one.why->code == Reason::NotRun; }))
          return fmt::format("not measured yet ({})", cellCount(cells_.size()));
        const bool memory = verdict == Verdict::Infeasible;
        return fmt::format("{}{}: {}", memory ? "out of memory" : "not measured yet",
                           inConfigurations(cells_.size(), cells_.size()), tell(0));
      }
      case Verdict::NotAsked:
        break;
    }
    return "";
  }

  /// Explains a cell of a claim without confidence, which is about every single trial.
  std::string trialsOf(size_t index) const {
    const CellEstimate& cell = cells_[index];
    const size_t count = brokenOf(index), all = cell.scope.complete;
    const char* noun = runOf(planned(index));
    if (count > 0) return fmt::format("{} of {} {} {}", count, counted(all, noun), are(count), breaks(index));
    return fmt::format("{} of {} so far, {}{}", all, counted(cell.scope.planned, noun),
                       all == 1   ? ""
                       : all == 2 ? "both "
                                  : "all ",
                       meets(index));
  }

  /// Explains a cell that its own interval would decide and Holm's correction leaves open.
  std::string notAfterCorrection(size_t index) const {
    const CellEstimate& cell = cells_[index];
    const std::string open = cell.interval ? "includes the bound " + end(index) : inWords(plan_, cell.why).text + ",";
    return fmt::format("{} after Holm's correction for {}; uncorrected it is {}", open,
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
    const size_t shown_cell = worst(passing);
    if (cells_.size() == 1) return shown(0) + ", " + meets(0) + placeBehind(0);
    // The claim is stated at its confidence.
    const bool exact = std::ranges::all_of(passing, [&](size_t index) { return cells_[index].constant; });
    return fmt::format("{}{}{}{}; {} {}{}{}", holds(), inConfigurations(passing.size(), cells_.size()),
                       passing.size() < cells_.size() ? ", which is enough," : "",
                       exact ? "" : " at " + formatConfidence(*criterion_.confidence) + " confidence",
                       extremeOf(shown_cell), shown(shown_cell), at(shown_cell),
                       ownBounds() ? ", " + meets(shown_cell) : "");
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
    const std::string aside = fmt::format(" ({} of {}; one is enough{})", count, criterion_.claim.children.size(),
                                          criterion_.confidence ? "; Holm-corrected" : "");
    const std::string where = count > 1           ? ", most clearly" + at(shown_cell)
                              : surest.size() > 1 ? ", least clearly" + at(shown_cell)
                                                  : "";
    return fmt::format("holds at {}{}: ", fmt::join(names, ", "), where) +
           (criterion_.confidence ? shown(shown_cell) + ", " + meets(shown_cell) : everyTrialPasses(surest)) + aside;
  }

  /// Explains cells all of which pass in every trial.
  std::string everyTrialPasses(const std::vector<size_t>& passing) const {
    size_t trials = 0;
    for (const size_t index : passing) trials += cells_[index].values.size();
    const auto [chosen, worst_value] = worstValue(passing);
    return allAre(trials, runOf(planned(chosen))) + " " + (ownBounds() ? "like " + referenceOf(criterion_) : holds()) +
           (trials == 1 ? ": " + value(chosen, worst_value) + at(chosen) : extremeText(chosen, worst_value));
  }

  /// Explains the pass of a claim with parts: how many hold, by which assertions, and the cell that is closest to its
  /// bound.
  std::string composedPass() const {
    const std::vector<size_t> held = holding(criterion_.claim);
    if (held.empty()) return "holds in every part";
    std::string text = "holds";
    if (const std::string parts = heldParts(); !parts.empty())
      text += fmt::format(" in {} ({} {} enough)", parts, criterion_.claim.least, are(criterion_.claim.least));
    std::vector<std::string> names;
    for (const std::string& assertion : heldBy()) {
      size_t of = 0, all = 0;
      for (size_t i = 0; i < cells_.size(); ++i)
        if (assertionOf(criterion_, planned(i))->text == assertion) ++all, of += is_contained(held, i);
      names.push_back(fmt::format("'{}'{}", assertion, inConfigurations(of, all)));
    }
    if (!names.empty()) text += " by " + listed(names);
    const size_t chosen = worst(held);
    return fmt::format("{}{} {}{}", text,
                       held.size() == 1             ? ", with"
                       : isAbsence(planned(chosen)) ? "; there is"
                                                    : "; closest is",
                       valueOf(chosen), at(chosen));
  }

  /// Counts the parts of an `at least` that hold: "2 of 4 parts"; "" for another claim.
  std::string heldParts() const {
    const plan::Claim& root = criterion_.claim;
    if (root.kind != plan::Claim::Kind::AtLeast) return "";
    const auto parts = std::ranges::count_if(root.children, [&](const auto& part) { return !holding(part).empty(); });
    return fmt::format("{} of {} parts", parts, root.children.size());
  }

  /// Returns what was found in one cell of a claim with parts.
  std::string valueOf(size_t index) const {
    const CellEstimate& cell = cells_[index];
    if (isInfeasible(criterion_, planned(index)) || cell.verdict == Verdict::Infeasible)
      return inWords(plan_, cell.why).text;
    if (isAbsence(planned(index))) return absence({index});
    return criterion_.confidence ? shown(index) : value(index, worstValue({index}).second);
  }

  /// Explains the failure of a claim with parts by the cells that make it fail.
  std::string composedFail() {
    constexpr size_t kNamed = 3;
    const std::vector<size_t> failed = failing(criterion_.claim);
    std::vector<std::string> texts;
    for (const size_t index : failed) {
      if (texts.size() == kNamed) break;
      const plan::Assertion* of = assertionOf(criterion_, planned(index));
      texts.push_back(
          fmt::format("{} fails with {}{}", of ? "'" + of->text + "'" : holds(), valueOf(index), at(index)));
    }
    if (texts.empty()) return "some part of the claim fails";
    if (failed.size() > kNamed) texts.push_back(fmt::format("and {} more", cellCount(failed.size() - kNamed)));
    const std::string parts = heldParts();
    return (parts.empty() ? "" : fmt::format("{} hold ({} must): ", parts, criterion_.claim.least)) +
           llvm::join(texts, "; ");
  }

  /// Explains a failure by the worst cell, and by points that ran out of memory.
  std::string fails() {
    if (isComposed(criterion_)) return composedFail();
    const std::vector<size_t> memory = with(Verdict::Infeasible), failing = with(Verdict::Fail);
    if (!forall()) {
      const std::vector<size_t>& among = failing.empty() ? memory : failing;
      if (among.empty()) return "the claim holds in no case";
      const size_t chosen = best(among);
      return fmt::format("{} in none of {}; closest is {}", holds(), cellCount(cells_.size()),
                         failing.empty() ? tell(chosen) : shown(chosen) + at(chosen));
    }
    if (failing.empty() && memory.empty()) return "the claim fails in some case";
    if (failing.empty()) {
      const std::string why = tell(memory.front());
      return cells_.size() == 1
                 ? why
                 : fmt::format("out of memory{}: {}", inConfigurations(memory.size(), cells_.size()), why);
    }
    std::string text;
    if (criterion_.confidence) {
      const size_t chosen = worst(failing);
      text = cells_.size() == 1
                 ? tell(chosen) + placeBehind(chosen)
                 : fmt::format("{}{} (Holm-corrected){}{}{}", breaks(), inConfigurations(failing.size(), cells_.size()),
                               extremeText(chosen, shown(chosen), isInfinite(chosen), true), at(chosen),
                               ownBounds() ? ", " + breaks(chosen) : "");
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
    const auto [chosen, worst_value] = worstValue(all);
    if (cells_.size() == 1 && !ownBounds()) tell(0);  // it begins so
    return fmt::format("{} of {} {} {}{}", broken, counted(trials, runOf(planned(chosen))), are(broken),
                       ownBounds() ? "not like " + referenceOf(criterion_) : breaks(),
                       extremeText(chosen, worst_value, true));
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
    // A reason about single trials counts them already.
    const std::string so_far = named || criterion_.confidence ? soFar() : "";
    const bool alone = cells_.size() == 1 && cells_[open.front()].interval;
    reason_ = alone ? why + placeBehind(open.front()) + so_far : (named ? "" : prefix(open.front())) + why + so_far;
    if (isComposed(criterion_))
      return fmt::format("{} in {} of {} parts{}; {}", word, open.size(), cells_.size(), decided(), reason_);
    return cells_.size() == 1
               ? reason_
               : fmt::format("{}{}{}; {}", word, inConfigurations(open.size(), cells_.size()), decided(), reason_);
  }

  /// Returns " (1 passes, 2 fail)": the cells that are decided; "" if none is.
  std::string decided() const {
    std::vector<std::string> counts;
    if (const size_t passing = with(Verdict::Pass).size())
      counts.push_back(fmt::format("{} {}", passing, passing == 1 ? "passes" : "pass"));
    if (const size_t failing = with(Verdict::Fail).size())
      counts.push_back(fmt::format("{} {}", failing, failing == 1 ? "fails" : "fail"));
    return framed(" (", joined(counts), ")");
  }

  /// Formats the estimate of a cell: "1.52x [1.48x, 1.57x]", "7.00 GiB in every run".
  std::string shown(size_t index) const {
    const CellEstimate& estimate = cells_[index];
    if (isInfinite(index)) return value(index, *estimate.estimate);
    if (cells_[index].constant && estimate.estimate) return value(index, *estimate.estimate) + " in every run";
    if (estimate.interval) return withInterval(index, *estimate.interval) + ownConfidenceText(criterion_, estimate);
    return estimate.estimate ? value(index, *estimate.estimate) : "no value";
  }

  /// Formats a cell's estimate with an interval, with digits that tell both from the bound.
  std::string withInterval(size_t index, const stats::Interval& interval) const {
    const std::optional<double>& estimate = cells_[index].estimate;
    const Bounds bounds = boundsOf(bound(index));
    return estimate ? formatEstimate(*estimate, interval, unitOf(criterion_, planned(index)), dimension(index), bounds)
                    : formatInterval(interval, unitOf(criterion_, planned(index)), dimension(index), bounds);
  }

  /// Formats a value of a cell; an infinite one by what it stands for.
  std::string value(size_t index, double number) const {
    if (std::isinf(number)) {
      const plan::Worst& worst = cells_[index].worst;
      if (worst.diverged) return worst.timed_out ? "a value that diverged, or a timeout" : "a value that diverged";
      if (worst.timed_out) return "a timeout";
      return isFirst(plan_, *planned(index).term) ? "a series that never reached its bound" : "no finite value";
    }
    return formatAgainst(number, boundsOf(bound(index)), unitOf(criterion_, planned(index)), dimension(index));
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

  /// Returns " at gpus=2": what tells a cell from the others, with its assertion where several hold or fail; "
  /// (gpus=2)" for a single cell.
  std::string at(size_t index) const { return framed(" at ", cells_.size() == 1 ? label(index) : prefixOf(index)); }
  std::string placeBehind(size_t index) const { return framed(" (", label(index), ")"); }
  std::string prefixOf(size_t index) const {
    return isComposed(criterion_) ? judge::cellLabel(plan_, criterion_.factors, planned(index)) : commonLabel({index});
  }

  /// Returns the label as a prefix: "precision=fp32: "; "" without one.
  std::string prefix(size_t index) const {
    return framed("", cells_.size() == 1 || isComposed(criterion_) ? label(index) : commonLabel({index}), ": ");
  }

  /// Whether cells have bounds of their own, as in agreement with a reference.
  bool ownBounds() const {
    return std::ranges::any_of(criterion_.cells, [](const plan::Cell& cell) { return cell.bound.has_value(); });
  }

  /// Returns the bound of a cell and its opposite, in words: "at least 1.2x" and "below 1.2x".
  std::string meets(size_t index) const { return boundText(bound(index), dimension(index)); }
  std::string breaks(size_t index) const { return violation(bound(index), dimension(index)); }
  std::string end(size_t index) const { return endText(bound(index), dimension(index)); }

  /// Returns the bound that all cells are held to, and its opposite.
  std::string holds() const { return ownBounds() ? "agrees with " + referenceOf(criterion_) : meets(0); }
  std::string breaks() const { return ownBounds() ? "differs from " + referenceOf(criterion_) : breaks(0); }

  /// Returns the value that is closest to breaking the bound, or breaks it most: "; lowest 95.0 %", or for one that is
  /// not a number ": a timeout".
  std::string extremeText(size_t index, const std::string& shown, bool infinite, bool breaks = false) const {
    return infinite ? ": " + shown : fmt::format("; {} {}", extremeOf(index, breaks), shown);
  }
  std::string extremeText(size_t index, double number, bool breaks = false) const {
    return extremeText(index, value(index, number), std::isinf(number), breaks) + at(index);
  }
  bool isInfinite(size_t index) const {
    const std::optional<double>& estimate = cells_[index].estimate;
    return estimate && std::isinf(*estimate);
  }

  /// Returns " (4 of 10 pairs measured so far)" while the design still wants trials.
  std::string soFar() const {
    for (size_t i = 0; i < cells_.size(); ++i) {
      const judge::Scope& scope = cells_[i].scope;
      if (!cells_[i].unfinished || scope.complete == 0) continue;
      return fmt::format(" ({} of {} measured so far)", scope.complete, counted(scope.planned, nounOf(planned(i))));
    }
    return "";
  }

  /// The reasons of cells that the line has told so far, and that of an open verdict without what it is undecided in.
  std::vector<Words> told_;
  std::string reason_;
};

}  // namespace

/// A line that is one reason; empty without one.
static VerdictLine lineOf(const Plan& plan, const plan::Why& why) {
  const Words words = inWords(plan, why);
  return {words.text, {words}};
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
  else if (const auto cut = std::ranges::find_if(result.cells, [](const auto& cell) { return !cell.looks.empty(); });
           cut != result.cells.end())
    line.text += fmt::format(" (interval {})", looksText(*cut));
  else if (!corrected && shown > *criterion.confidence + 1e-9)
    line.text += fmt::format(" (intervals of {})", formatConfidence(shown));
  return line;
}

std::string whyText(const Judged& of) { return lineOf(of).text; }

std::string openSentence(const Judged& of) {
  const VerdictLine line = lineOf(of);
  const std::string& text = line.reason.empty() ? line.text : line.reason;
  // A metric keeps its spelling, which a capital would change.
  const bool metric = of.plan.findMetric(text.substr(0, text.find(' ')));
  return sentence((metric ? "the metric " : "") + text);
}

std::vector<std::string> heldBy(const Judged& of) {
  if (of.result.verdict != Verdict::Pass) return {};
  return Explainer(of.plan, of.criterion, of.result.cells).heldBy();
}

std::string cellLabel(const Plan& plan, const Criterion& criterion, const plan::Cell& cell) {
  std::string text = judge::cellLabel(plan, criterion.factors, cell);
  if (const plan::Assertion* of = assertionOf(criterion, cell)) text += (text.empty() ? "" : ", ") + of->text;
  return text;
}

std::optional<Telling> tellingOf(const Judged& of) {
  return Explainer(of.plan, of.criterion, of.result.cells).telling(of.result.verdict);
}

Words whyText(const Plan& plan, const Criterion& criterion, const CellEstimate& cell) {
  return cell.cell < criterion.cells.size() ? Explainer(plan, criterion, {&cell, 1}).cell(0) : Words();
}

}  // namespace expc::report
