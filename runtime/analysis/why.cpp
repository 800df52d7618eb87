#include "runtime/analysis/why.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/stats/procedures.h"

namespace expc::analysis {
namespace {

/// Whether a term is the place in a series at which it reaches a bound: `epochs_to`, also by the name of a metric.
bool isFirst(const plan::Plan& plan, const plan::Term& term) {
  const auto* read = std::get_if<plan::MetricTerm>(&term.node);
  const plan::Metric* metric = read ? plan.findMetric(read->metric) : nullptr;
  if (metric && metric->derived) return isFirst(plan, *metric->derived);
  return std::holds_alternative<plan::FirstTerm>(term.node);
}

std::string cellCount(size_t count) { return fmt::format("{} cell{}", count, count == 1 ? "" : "s"); }

const char* are(size_t count) { return count == 1 ? "is" : "are"; }

/// Explains one criterion from its measured cells, whose verdicts are set. `levels`: those at which cells are decided,
/// where intervals at them are those of one look; else empty.
class Explainer {
 public:
  Explainer(const plan::Plan& plan, const plan::Criterion& criterion, const std::vector<MeasuredCell>& cells,
            std::vector<Levels> levels)
      : plan_(plan), criterion_(criterion), cells_(cells), levels_(std::move(levels)) {}

  /// "" for a cell that passes, else e.g. "1.18x [1.10x, 1.25x] does not decide >= 1.2x".
  std::string cell(size_t index) const {
    const MeasuredCell& cell = cells_[index];
    if (cell.estimate.verdict == Verdict::Pass) return "";
    if (cell.state != CellState::Measured) return cell.estimate.why;
    if (!cell.estimate.unusable.empty() && cell.estimate.verdict != Verdict::Fail) return cell.estimate.unusable;
    if (!criterion_.confidence) {
      const std::vector<double>& values = cell.estimate.values;
      const auto broken = [&](double v) { return !satisfies(bound(index), v, v); };
      const auto count = std::count_if(values.begin(), values.end(), broken);
      const Scope& scope = cell.estimate.scope;
      if (count > 0) {
        return fmt::format("{} of {} {} {}", count, countNoun(criterion_.cells[index], scope.complete),
                           are(static_cast<size_t>(count)), violation(bound(index)));
      }
      return fmt::format("{} so far {} {}, of {} planned", countNoun(criterion_.cells[index], scope.complete),
                         are(scope.complete), bound(index).text, scope.planned);
    }
    if (!cell.estimate.interval) return cell.estimate.why;
    const double low = cell.estimate.interval->low, high = cell.estimate.interval->high;
    if (cell.estimate.verdict == Verdict::Fail) return shown(index) + " is " + violation(bound(index));
    if (violates(bound(index), low, high) || satisfies(bound(index), low, high)) return notAfterCorrection(index);
    return shown(index) + " does not decide " + bound(index).text +
           (cell.estimate.steps.empty() ? "" : "; " + cell.estimate.steps);
  }

  /// The interval of a cell that its own would decide if it were the only one, corrected for the others, where that
  /// leaves it open; nothing for other cells.
  std::optional<stats::Interval> corrected(size_t index) const {
    const CellEstimate& estimate = cells_[index].estimate;
    const auto decides = [&](const stats::Interval& one) {
      return violates(bound(index), one.low, one.high) || satisfies(bound(index), one.low, one.high);
    };
    if (index >= levels_.size() || estimate.verdict != Verdict::Inconclusive || !criterion_.confidence ||
        !estimate.interval || !decides(*estimate.interval))
      return std::nullopt;
    const auto wider = atItsLevel(index);
    return wider && !decides(*wider) ? wider : std::nullopt;
  }

  /// "all 4 cells: smallest 1.52x [1.48x, 1.57x] >= 1.2x".
  std::string criterion(Verdict verdict) const {
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
        if (cells_.size() == 1) return cells_[0].estimate.why;
        const bool memory = verdict == Verdict::Infeasible;
        return fmt::format("{} {}: {}", memory ? "memory ran out in all" : "nothing was run of",
                           cellCount(cells_.size()), cells_[0].estimate.why);
      }
      case Verdict::NotAsked:
        break;
    }
    return "";
  }

 private:
  bool forall() const { return criterion_.claim.kind != plan::Claim::Kind::Exists; }

  /// Of a cell whose interval would decide it if it were the only one.
  std::string notAfterCorrection(size_t index) const {
    const stats::Interval& alone = *cells_[index].estimate.interval;
    const std::string text =
        fmt::format("{} is {} alone, but", shown(index),
                    violates(bound(index), alone.low, alone.high) ? violation(bound(index)) : bound(index).text);
    const std::string correction = fmt::format("corrected for {} (Holm)", cellCount(cells_.size()));
    if (const auto wider = corrected(index))
      return fmt::format(
          "{} {} its interval is {}", text, correction,
          formatInterval(*wider, criterion_.unit, dimensionOf(plan_, criterion_.cells[index]), ends(bound(index))));
    return index < levels_.size() && !atItsLevel(index)
               ? fmt::format("{} {} it has too few values for an interval", text, correction)
               : fmt::format("{} not {}", text, correction);
  }

  /// At the level that the others leave it; nothing where there are too few values.
  std::optional<stats::Interval> atItsLevel(size_t index) const {
    const stats::Interval& alone = *cells_[index].estimate.interval;
    const Levels& levels = levels_[index];
    return cells_[index].intervals.interval(
        1 - (violates(bound(index), alone.low, alone.high) ? levels.fail : levels.pass));
  }

  std::string passes() const {
    const std::vector<size_t> passing = with(Verdict::Pass);
    if (passing.empty()) return "every part of the claim holds";
    if (!forall()) return somePass();
    if (!criterion_.confidence) return everyTrialPasses(passing);
    const size_t shown_cell = worst(passing);
    if (cells_.size() == 1) return prefix(0) + shown(0) + " is " + bound(0).text;
    return fmt::format(
        "{} {} {} {}: the {} is {}", passing.size() == cells_.size() ? "all" : fmt::format("{} of", passing.size()),
        cellCount(cells_.size()), are(passing.size()), holds(), extreme(bound(shown_cell)),
        ownBounds() ? prefix(shown_cell) + shown(shown_cell) + ", " + bound(shown_cell).text : shown(shown_cell));
  }

  /// Of an exists: which of its parts hold.
  std::string somePass() const {
    constexpr size_t kNamed = 6;
    std::vector<std::string> names;
    std::vector<size_t> surest;
    size_t count = 0;
    for (const plan::Claim& part : criterion_.claim.children) {
      const std::vector<size_t> own = decisive(part);
      if (own.empty()) continue;
      if (++count <= kNamed) names.push_back(commonLabel(cellsOf(part)));
      if (surest.empty() || marginOf(worst(own)) > marginOf(worst(surest))) surest = own;
    }
    if (count == 0) return "some part of the claim holds";
    if (count > kNamed) names.push_back("…");
    const size_t shown_cell = worst(surest);
    return fmt::format("it holds at {} ({} of {}{}; one is enough){}: ", fmt::join(names, ", "), count,
                       criterion_.claim.children.size(), criterion_.confidence ? ", Holm over them" : "",
                       count > 1 ? "; the surest" : "") +
           (criterion_.confidence
                ? fmt::format("{}{} is {}", prefix(shown_cell), shown(shown_cell), bound(shown_cell).text)
                : everyTrialPasses(surest));
  }

  /// Of these cells, all of which pass.
  std::string everyTrialPasses(const std::vector<size_t>& passing) const {
    const size_t chosen = worst(passing);
    size_t trials = 0;
    for (const size_t index : passing) trials += cells_[index].estimate.values.size();
    const std::vector<double>& values = cells_[chosen].estimate.values;
    const double shown_value = *std::min_element(values.begin(), values.end(), [&](double a, double b) {
      return margin(bound(chosen), a, a) < margin(bound(chosen), b, b);
    });
    const std::string place = label(chosen);
    const std::string count = countNoun(criterion_.cells[chosen], static_cast<unsigned>(trials));
    std::string text = trials == 1 ? count : "all " + count;
    text +=
        fmt::format(" {} {}: the {} is {}", are(trials), holds(), extreme(bound(chosen)), value(chosen, shown_value));
    return place.empty() ? text : text + " at " + place;
  }

  std::string fails() const {
    const std::vector<size_t> memory = with(Verdict::Infeasible), failing = with(Verdict::Fail);
    if (!forall()) {
      const std::vector<size_t>& among = failing.empty() ? memory : failing;
      if (among.empty()) return "no part of the claim holds";
      const size_t chosen = best(among);
      const std::string detail = failing.empty() ? cells_[chosen].estimate.why : prefix(chosen) + shown(chosen);
      return fmt::format("none of {} is {}: the closest is {}", cellCount(cells_.size()), holds(), detail);
    }
    if (failing.empty() && memory.empty()) return "some part of the claim fails";
    if (failing.empty()) {
      const std::string& why = cells_[memory.front()].estimate.why;
      return cells_.size() == 1 ? why
                                : fmt::format("{} of {} did not run: {}", memory.size(), cellCount(cells_.size()), why);
    }
    std::string text;
    if (criterion_.confidence) {
      const size_t chosen = worst(failing);
      text = cells_.size() == 1
                 ? prefix(chosen) + shown(chosen) + " is " + violation(bound(chosen))
                 : fmt::format("{} of {} {} {}, by Holm over them: the worst is {}{}", failing.size(),
                               cellCount(cells_.size()), are(failing.size()), breaks(), prefix(chosen), shown(chosen));
    } else {
      text = trialsFail();
    }
    return memory.empty() ? text : text + "; also " + cells_[memory.front()].estimate.why;
  }

  std::string trialsFail() const {
    size_t broken = 0, trials = 0, chosen = 0;
    double least = 0, shown_value = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      for (const double v : cells_[i].estimate.values) {
        ++trials;
        if (satisfies(bound(i), v, v)) continue;
        const double distance = margin(bound(i), v, v);
        if (broken++ == 0 || distance < least) {
          least = distance;
          shown_value = v;
          chosen = i;
        }
      }
    }
    const std::string place = label(chosen);
    return fmt::format("{} of {} {} {}: {} got {}", broken,
                       countNoun(criterion_.cells[chosen], static_cast<unsigned>(trials)), are(broken), breaks(),
                       place.empty() ? "the worst" : place, value(chosen, shown_value));
  }

  std::string undecided() const {
    std::vector<size_t> open = with(Verdict::Broken);
    const char* word = open.empty() ? "undecided" : "broken";
    if (open.empty()) {
      open = with(Verdict::Inconclusive);
      for (const size_t index : with(Verdict::NotRun)) open.push_back(index);
      if (!forall())
        for (const size_t index : with(Verdict::Infeasible)) open.push_back(index);
    }
    if (open.empty()) return "undecided";
    const std::string& why = cells_[open.front()].estimate.why;
    // Reasons about points name them already.
    const bool named = cells_[open.front()].state != CellState::Measured;
    const std::string reason = (named ? "" : prefix(open.front())) + why;
    // Of single trials the reason counts them already.
    const std::string so_far = named || criterion_.confidence ? soFar() : "";
    if (cells_.size() == 1) return reason + so_far;
    return fmt::format("{} of {} {} {}: {}{}", open.size(), cellCount(cells_.size()), are(open.size()), word, reason,
                       so_far);
  }

  /// Indices of the cells with this verdict.
  std::vector<size_t> with(Verdict verdict) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].estimate.verdict == verdict) found.push_back(i);
    }
    return found;
  }

  double marginOf(size_t index) const {
    const CellEstimate& estimate = cells_[index].estimate;
    if (criterion_.confidence && estimate.interval) {
      // A failing cell is as far off as its end that is nearest to the bound.
      return estimate.verdict == Verdict::Fail ? margin(bound(index), estimate.interval->high, estimate.interval->low)
                                               : margin(bound(index), estimate.interval->low, estimate.interval->high);
    }
    double least = INFINITY;
    for (const double v : estimate.values) least = std::min(least, margin(bound(index), v, v));
    return least;
  }

  /// Of these cells the one with the least (or most) margin to the bound; they are not empty.
  size_t worst(const std::vector<size_t>& among) const {
    return *std::min_element(among.begin(), among.end(), [&](size_t a, size_t b) { return marginOf(a) < marginOf(b); });
  }

  size_t best(const std::vector<size_t>& among) const {
    return *std::max_element(among.begin(), among.end(), [&](size_t a, size_t b) { return marginOf(a) < marginOf(b); });
  }

  /// "1.52x [1.48x, 1.57x]", "7.00 GiB (constant)".
  std::string shown(size_t index) const {
    const CellEstimate& estimate = cells_[index].estimate;
    const std::string_view dimension = dimensionOf(plan_, criterion_.cells[index]);
    const std::vector<double> bounds = ends(bound(index));
    if (cells_[index].exact && estimate.estimate) return value(index, *estimate.estimate) + " (constant)";
    if (estimate.estimate && estimate.interval) {
      return formatEstimate(*estimate.estimate, *estimate.interval, criterion_.unit, dimension, bounds);
    }
    if (estimate.interval) return formatInterval(*estimate.interval, criterion_.unit, dimension, bounds);
    return estimate.estimate ? value(index, *estimate.estimate) : "no value";
  }

  std::string value(size_t index, double number) const {
    const plan::Cell& cell = criterion_.cells[index];
    if (std::isinf(number)) {
      if (cells_[index].timed_out) return "a timeout";
      return isFirst(plan_, *cell.term) ? "a series that never reached its bound" : "no finite value";
    }
    return formatAgainst(number, ends(bound(index)), criterion_.unit, dimensionOf(plan_, cell));
  }

  /// "precision=fp32 gpus=2", or "" where there is one cell without labels.
  std::string label(size_t index) const { return cellLabel(criterion_.factors, criterion_.cells[index]); }

  std::vector<size_t> cellsOf(const plan::Claim& claim) const {
    if (claim.kind == plan::Claim::Kind::Cell) return {claim.cell};
    std::vector<size_t> all;
    for (const plan::Claim& child : claim.children) {
      const std::vector<size_t> own = cellsOf(child);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  /// The cells by which a part of an exists holds; none where it does not.
  std::vector<size_t> decisive(const plan::Claim& part) const {
    std::vector<size_t> passing;
    const std::vector<size_t> own = cellsOf(part);
    for (const size_t index : own)
      if (cells_[index].estimate.verdict == Verdict::Pass) passing.push_back(index);
    if (part.kind == plan::Claim::Kind::Exists && !passing.empty()) return {best(passing)};
    return passing.size() == own.size() ? passing : std::vector<size_t>();
  }

  /// What tells these cells from the others: "level=19" of all its threads.
  std::string commonLabel(const std::vector<size_t>& cells) const {
    const auto same = [&](size_t factor, const auto& among, const auto& labels) {
      return std::all_of(among.begin(), among.end(),
                         [&](const auto& one) { return labels(one)[factor] == labels(among[0])[factor]; });
    };
    const auto of = [&](size_t index) -> const auto& { return criterion_.cells[index].labels; };
    const auto in = [](const plan::Cell& cell) -> const auto& { return cell.labels; };
    std::vector<std::string> texts;
    for (size_t factor = 0; factor < criterion_.factors.size(); ++factor)
      if (same(factor, cells, of) && !same(factor, criterion_.cells, in))
        texts.push_back(criterion_.factors[factor] + "=" + of(cells[0])[factor]);
    return texts.empty() ? label(cells[0]) : fmt::format("{}", fmt::join(texts, " "));
  }

  /// "precision=fp32: " or "".
  std::string prefix(size_t index) const {
    const std::string text = label(index);
    return text.empty() ? "" : text + ": ";
  }

  const plan::Bound& bound(size_t index) const { return boundOf(criterion_, criterion_.cells[index]); }

  /// Whether the cells have bounds of their own: agreement with a reference.
  bool ownBounds() const {
    return std::any_of(criterion_.cells.begin(), criterion_.cells.end(),
                       [](const plan::Cell& cell) { return cell.bound.has_value(); });
  }

  /// What all cells are asked for, and what it is not to do so: ">= 1.2x" and "below 1.2x".
  std::string holds() const { return ownBounds() ? "within the published bands" : criterion_.bound.text; }

  std::string breaks() const { return ownBounds() ? "outside the published bands" : violation(criterion_.bound); }

  /// "; 4 of 10 pairs so far" while the design still wants trials.
  std::string soFar() const {
    for (size_t i = 0; i < cells_.size(); ++i) {
      const Scope& scope = cells_[i].estimate.scope;
      if (!cells_[i].unfinished || scope.complete == 0) continue;
      return fmt::format("; {} of {} so far", scope.complete, countNoun(criterion_.cells[i], scope.planned));
    }
    return "";
  }

  const plan::Plan& plan_;
  const plan::Criterion& criterion_;
  const std::vector<MeasuredCell>& cells_;
  std::vector<Levels> levels_;
};

}  // namespace

std::string explain(const plan::Plan& plan, const plan::Criterion& criterion, Verdict verdict,
                    std::vector<Levels> levels, std::vector<MeasuredCell>& cells) {
  const Explainer explainer(plan, criterion, cells, std::move(levels));
  for (size_t i = 0; i < cells.size(); ++i) cells[i].estimate.why = explainer.cell(i);
  const std::string line = explainer.criterion(verdict);
  for (size_t i = 0; i < cells.size(); ++i)
    if (const auto wider = explainer.corrected(i)) cells[i].estimate.interval = wider;
  return line;
}

}  // namespace expc::analysis
