// Needs: how wide the intervals are that `until` speaks of.

#include <algorithm>
#include <cmath>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/needs.h"
#include "runtime/plan/find.h"

namespace expc::analysis {
namespace {

/// The half-width of a cell's interval in the sense of `until`; nothing while there is no interval.
std::optional<double> halfWidth(const MeasuredCell& cell, bool relative) {
  const CellEstimate& estimate = cell.estimate;
  if (!estimate.estimate || !estimate.interval) return std::nullopt;
  const double width =
      std::max(*estimate.estimate - estimate.interval->low, estimate.interval->high - *estimate.estimate);
  if (!relative) return width;
  if (*estimate.estimate == 0) return width == 0 ? std::optional<double>(0) : std::nullopt;
  return width / std::abs(*estimate.estimate);
}

/// The cells whose intervals an `until` speaks of, with the names of their labels.
std::pair<std::vector<plan::Cell>, std::vector<std::string>> subjectCells(const plan::Plan& plan,
                                                                          const std::string& subject) {
  if (const plan::Comparison* comparison = plan::named(plan.comparisons, subject))
    return {comparison->cells, comparison->factors};
  std::vector<plan::Cell> cells;
  std::vector<std::string> factors;
  for (const plan::Factor& factor : plan.factors) factors.push_back(factor.name);
  const plan::Metric* metric = plan.findMetric(subject);
  for (const plan::Point& point : plan.points) {
    if (!metric) break;
    plan::Cell cell = cellOf(*metric, point.id);
    for (size_t i = 0; i < plan.factors.size(); ++i) cell.labels.push_back(plan.levelLabel(point, i));
    cells.push_back(std::move(cell));
  }
  return {std::move(cells), std::move(factors)};
}

/// Whether further blocks could give the cell the interval that it lacks.
bool canGoOn(const Index& index, const plan::Cell& cell, unsigned tried, unsigned most) {
  return tried < most && std::all_of(
                             cell.points.begin(), cell.points.end(),
                             [&](const plan::Place& place) {
                               const std::optional<unsigned> number = index.number(place);
                               return number && index.asked(cell.kind, *number) && !index.givenUp(cell.kind, *number);
                             });
}

/// Sets `widest`, `where`, `blocks`, `met` and `over`.
void measureUntil(const Evidence& evidence, UntilState& state) {
  const auto [cells, factors] = subjectCells(evidence.index.plan(), state.until.subject);
  std::optional<double> widest;
  bool all_known = true;
  for (const plan::Cell& cell : cells) {
    if (cell.kind != state.kind) continue;
    const MeasuredCell measured = measure(evidence, cell, kConfidence);
    const Scope& scope = measured.estimate.scope;
    state.blocks = std::max(state.blocks, scope.complete);
    if (measured.estimate.state != CellState::Measured && measured.estimate.state != CellState::Lost &&
        measured.estimate.state != CellState::Broken)  // until it is given up
      continue;
    const std::optional<double> width = halfWidth(measured, state.until.relative);
    if (!width && !canGoOn(evidence.index, cell, scope.complete + scope.lost, state.most)) continue;
    if (!all_known || (width && widest && *width < *widest)) continue;
    state.where = cellLabel(factors, cell);
    all_known = width.has_value();
    widest = width;
  }
  state.widest = widest;
  state.met = widest && *widest <= state.until.half_width;
  state.over = state.met || (!widest && all_known);
}

}  // namespace

std::vector<UntilState> untilStates(const Index& index, plan::TrialKind kind) {
  std::optional<std::vector<UntilState>>& known = index.widths_[static_cast<size_t>(kind)];
  if (known) return *known;
  std::vector<UntilState> states;
  const Evidence evidence{index, {}};
  const plan::KindDesign* design = plan::designOf(index.plan(), kind);
  for (const plan::Until& until : design ? design->until : std::vector<plan::Until>()) {
    UntilState& state = states.emplace_back();
    state.kind = kind;
    state.until = until;
    state.most = design->most();
    measureUntil(evidence, state);
  }
  known = states;
  return states;
}

}  // namespace expc::analysis
