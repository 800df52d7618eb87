#include "runtime/analysis/needs.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/analysis/outcomes.h"

namespace expc::analysis {
namespace {

unsigned shortOf(unsigned target, unsigned have) { return target > have ? target - have : 0; }

/// How many more blocks each point of a plan needs, for one kind of trial.
class Deficits {
 public:
  Deficits(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results)
      : kind_(kind), outcomes_(results) {
    const auto design = std::find_if(plan.design.kinds.begin(), plan.design.kinds.end(),
                                     [&](const plan::KindDesign& entry) { return entry.kind == kind; });
    if (design == plan.design.kinds.end()) return;
    repeat_ = design->repeat;
    limit_ = repeat_ + (repeat_ + 1) / 2;
    for (const plan::Point& point : plan.points) {
      if (!point.unavailable.empty() || outcomes_.of(kind_, point.id).infeasible_blocks >= kInfeasibleBlocks) continue;
      need_[point.id] = ofPoint(point.id);
    }
    for (const plan::Comparison& comparison : plan.comparisons) addCells(comparison.cells);
    for (const plan::Criterion& criterion : plan.criteria) addCells(criterion.cells);
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
  Outcomes outcomes_;
  unsigned repeat_ = 0, limit_ = 0;
  std::map<std::string, unsigned, std::less<>> need_;  // points that can run
};

}  // namespace

std::vector<std::string> nextBlock(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results) {
  const Deficits deficits(plan, kind, results);
  std::vector<std::string> points;
  for (const plan::Point& point : plan.points) {
    if (deficits.of(point.id) > 0) points.push_back(point.id);
  }
  return points;
}

Remaining remaining(const plan::Plan& plan, plan::TrialKind kind, const store::Results& results) {
  const Deficits deficits(plan, kind, results);
  Remaining left;
  for (const plan::Point& point : plan.points) {
    const unsigned need = deficits.of(point.id);
    left.blocks = std::max(left.blocks, need);
    left.trials += need;
  }
  return left;
}

}  // namespace expc::analysis
