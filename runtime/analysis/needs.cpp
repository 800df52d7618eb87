#include "runtime/analysis/needs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/outcomes.h"

namespace expc::analysis {
namespace {

unsigned shortOf(unsigned target, unsigned have) { return target > have ? target - have : 0; }

/// How many more blocks each point of a plan needs, for one kind of trial.
class Deficits {
 public:
  Deficits(const plan::Plan& plan, plan::TrialKind kind, const Outcomes& outcomes, unsigned repeat)
      : kind_(kind), outcomes_(outcomes), repeat_(repeat), limit_(repeat + (repeat + 1) / 2) {
    for (const plan::Point& point : plan.points) {
      if (!point.startable() || outcomes_.of(kind_, point.id).infeasible_blocks >= kInfeasibleBlocks) continue;
      need_[point.id] = ofPoint(point.id);
    }
    if (hasControls(plan, kind)) addControls(plan);
    for (const plan::Comparison& comparison : plan.comparisons) addCells(comparison.cells);
    for (const plan::Criterion& criterion : plan.criteria) addCells(criterion.cells);
  }

  bool any() const {
    return std::any_of(need_.begin(), need_.end(), [](const auto& entry) { return entry.second > 0; });
  }
  unsigned of(std::string_view point) const {
    const auto found = need_.find(point);
    return found == need_.end() ? 0 : found->second;
  }

 private:
  unsigned ofPoint(std::string_view point) const {
    const PointOutcomes& outcomes = outcomes_.of(kind_, point);
    return std::min(shortOf(repeat_, outcomes.ended()), shortOf(limit_, outcomes.outcomes.size()));
  }

  unsigned ofCell(const plan::Cell& cell) const {
    unsigned complete = 0;
    std::set<int64_t> tried;
    for (const Outcome& outcome : outcomes_.of(kind_, cell.points.front()).outcomes) {
      const auto all = [&](auto holds) {
        return std::all_of(cell.points.begin(), cell.points.end(), [&](const std::string& point) {
          const auto& others = outcomes_.of(kind_, point).outcomes;
          return std::any_of(others.begin(), others.end(), holds);
        });
      };
      const auto in_block = [&](const Outcome& other) { return other.block == outcome.block; };
      if (all(in_block)) tried.insert(outcome.block);
      complete += all(
          [&](const Outcome& other) { return in_block(other) && other.session == outcome.session && other.ended(); });
    }
    return std::min(shortOf(repeat_, complete), shortOf(limit_, static_cast<unsigned>(tried.size())));
  }

  void addControls(const plan::Plan& plan) {
    for (const plan::Control& control : plan.controls) {
      const std::string place = store::placeOf(control.point, control.name);
      const auto point = need_.find(control.point);
      if (point == need_.end() || outcomes_.of(kind_, place).infeasible_blocks >= kInfeasibleBlocks) continue;
      plan::Cell pair;
      pair.points = {control.point, place};
      const unsigned deficit = ofCell(pair);
      need_[place] = std::max(ofPoint(place), deficit);
      point->second = std::max(point->second, deficit);
    }
  }

  void addCells(const std::vector<plan::Cell>& cells) {
    for (const plan::Cell& cell : cells) {
      if (cell.kind != kind_ || cell.points.size() < 2) continue;
      const bool possible = std::all_of(cell.points.begin(), cell.points.end(),
                                        [&](const std::string& point) { return need_.count(point) != 0; });
      if (!possible) continue;
      const unsigned deficit = ofCell(cell);
      for (const std::string& point : cell.points) need_[point] = std::max(need_[point], deficit);
    }
  }

  plan::TrialKind kind_;
  const Outcomes& outcomes_;
  unsigned repeat_ = 0, limit_ = 0;
  std::map<std::string, unsigned, std::less<>> need_;  // places that can run
};

const plan::KindDesign* designOf(const plan::Plan& plan, plan::TrialKind kind) {
  const auto design = std::find_if(plan.design.kinds.begin(), plan.design.kinds.end(),
                                   [&](const plan::KindDesign& entry) { return entry.kind == kind; });
  return design == plan.design.kinds.end() ? nullptr : &*design;
}

/// Every place of the plan, in the order of blocks before they are shuffled.
std::vector<std::string> places(const plan::Plan& plan) {
  std::vector<std::string> all;
  for (const plan::Point& point : plan.points) all.push_back(point.id);
  for (const plan::Control& control : plan.controls) all.push_back(store::placeOf(control.point, control.name));
  return all;
}

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
  for (const plan::Comparison& comparison : plan.comparisons) {
    if (comparison.name == subject) return {comparison.cells, comparison.factors};
  }
  std::vector<plan::Cell> cells;
  std::vector<std::string> factors;
  for (const plan::Factor& factor : plan.factors) factors.push_back(factor.name);
  const plan::Metric* metric = plan.findMetric(subject);
  for (const plan::Point& point : plan.points) {
    if (!metric) break;
    plan::Cell cell;
    for (size_t i = 0; i < plan.factors.size(); ++i) cell.labels.push_back(plan.levelLabel(point, i));
    cell.term = std::make_shared<const plan::Term>(plan::Term{plan::MetricTerm{subject, point.id}});
    cell.kind = metric->kind;
    cell.points = {point.id};
    cells.push_back(std::move(cell));
  }
  return {std::move(cells), std::move(factors)};
}

/// Sets `widest`, `where` and `met`.
void measureUntil(const Evidence& evidence, UntilState& state) {
  const auto [cells, factors] = subjectCells(evidence.plan, state.until.subject);
  double widest = 0;
  for (const plan::Cell& cell : cells) {
    if (cell.kind != state.kind) continue;
    const MeasuredCell measured = measure(evidence, cell, kConfidence);
    if (measured.state != CellState::Measured && measured.state != CellState::Lost) continue;
    const std::optional<double> width = halfWidth(measured, state.until.relative);
    if (width && *width < widest) continue;
    state.where = cellLabel(factors, cell);
    if (!width) return;
    widest = *width;
  }
  state.widest = widest;
  state.met = widest <= state.until.half_width;
}

std::vector<UntilState> untilStatesOf(const plan::Plan& plan, const plan::KindDesign& design,
                                      const Outcomes& outcomes) {
  std::vector<UntilState> states;
  const Evidence evidence{plan, outcomes, {}};
  unsigned blocks = 0;
  for (const plan::Point& point : plan.points) blocks = std::max(blocks, outcomes.of(design.kind, point.id).ended());
  for (const plan::Until& until : design.until) {
    UntilState state;
    state.kind = design.kind;
    state.until = until;
    state.blocks = blocks;
    state.most = design.most();
    measureUntil(evidence, state);
    states.push_back(std::move(state));
  }
  return states;
}

/// The deficits that count now: at `repeat`; where all is there and an `until` is not met, at more.
Deficits deficitsNow(const plan::Plan& plan, const plan::KindDesign& design, const Outcomes& outcomes) {
  Deficits deficits(plan, design.kind, outcomes, design.repeat);
  if (deficits.any() || design.most() <= design.repeat) return deficits;
  // What has been measured says the same at every step, so ask once.
  const std::vector<UntilState> states = untilStatesOf(plan, design, outcomes);
  if (std::all_of(states.begin(), states.end(), [](const UntilState& state) { return state.met; })) return deficits;
  for (unsigned repeat = design.repeat + 1; repeat <= design.most(); ++repeat) {
    Deficits more(plan, design.kind, outcomes, repeat);
    if (more.any()) return more;
  }
  return deficits;
}

}  // namespace

bool hasControls(const plan::Plan& plan, plan::TrialKind kind) {
  if (kind == plan::TrialKind::Timed) return true;
  return kind == plan::TrialKind::Quality && !designOf(plan, plan::TrialKind::Timed);
}

std::vector<UntilState> untilStates(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results) {
  const plan::KindDesign* design = designOf(plan, kind);
  if (!design || design->until.empty()) return {};
  return untilStatesOf(plan, *design, Outcomes(results));
}

std::vector<std::string> nextBlock(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results) {
  const plan::KindDesign* design = designOf(plan, kind);
  if (!design) return {};
  const Outcomes outcomes(results);
  const Deficits deficits = deficitsNow(plan, *design, outcomes);
  std::vector<std::string> wanted;
  for (std::string& place : places(plan)) {
    if (deficits.of(place) > 0) wanted.push_back(std::move(place));
  }
  return wanted;
}

Remaining remaining(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results) {
  const plan::KindDesign* design = designOf(plan, kind);
  Remaining left;
  if (!design) return left;
  const Outcomes outcomes(results);
  const Deficits deficits = deficitsNow(plan, *design, outcomes);
  for (const std::string& place : places(plan)) {
    const unsigned need = deficits.of(place);
    left.blocks = std::max(left.blocks, need);
    left.trials += need;
  }
  return left;
}

}  // namespace expc::analysis
