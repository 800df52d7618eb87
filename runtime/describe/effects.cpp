#include "runtime/describe/effects.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "runtime/judge/readings.h"
#include "runtime/plan/labels.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::describe {
namespace {

/// Steps of the search for a sub-grid; of larger ones the best that was found by then.
constexpr unsigned kMostSteps = 20'000;

using LevelIndices = std::vector<unsigned>;
/// For each factor the levels that are in the grid, ascending.
using Grid = std::vector<std::vector<unsigned>>;
/// The logarithms of a point, by block and session.
using Logs = std::map<std::pair<int64_t, int64_t>, double>;

size_t sizeOf(const Grid& grid) {
  size_t size = 1;
  for (const auto& levels : grid) size *= levels.size();
  return size;
}

/// Calls `visit` with each combination until it returns false.
template <class Visit>
bool forEach(const Grid& grid, Visit visit) {
  LevelIndices at(grid.size());
  std::vector<size_t> odometer(grid.size(), 0);
  for (size_t i = 0, count = sizeOf(grid); i < count; ++i) {
    for (size_t f = 0; f < grid.size(); ++f) at[f] = grid[f][odometer[f]];
    if (!visit(at)) return false;
    for (size_t f = grid.size(); f-- > 0;) {
      if (++odometer[f] < grid[f].size()) break;
      odometer[f] = 0;
    }
  }
  return true;
}

/// The largest grid all of whose combinations are there: a missing one takes away one of its levels.
Grid largestGrid(Grid all, const std::map<LevelIndices, const Logs*>& there) {
  Grid best;
  unsigned steps = 0;
  const auto look = [&](const auto& again, Grid grid) {
    if (++steps > kMostSteps || sizeOf(grid) <= (best.empty() ? 1 : sizeOf(best))) return;
    LevelIndices missing;
    forEach(grid, [&](const LevelIndices& at) {
      if (there.count(at)) return true;
      missing = at;
      return false;
    });
    if (missing.empty()) {
      best = std::move(grid);
      return;
    }
    // The factor with the most levels first: without one of them most is left.
    std::vector<size_t> order(grid.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t f) { return grid[f].size(); });
    for (const size_t f : order) {
      if (grid[f].size() < 2) continue;
      Grid less = grid;
      std::erase(less[f], missing[f]);
      again(again, std::move(less));
    }
  };
  look(look, std::move(all));
  return best;
}

/// A balanced table of logarithms: points of a grid by blocks.
struct Table {
  Grid grid;
  std::vector<LevelIndices> points = {};
  size_t blocks = 0;
  std::vector<double> logs = {};  // of each point those of all blocks
};

/// Blocks in which every point of the grid has a value.
Table tableOf(const Grid& grid, const std::map<LevelIndices, const Logs*>& there) {
  Table table{grid};
  forEach(grid, [&](const LevelIndices& at) {
    table.points.push_back(at);
    return true;
  });
  std::vector<std::pair<int64_t, int64_t>> blocks;
  for (const auto& [block, log] : *there.at(table.points.front()))
    if (std::ranges::all_of(table.points, [&](const LevelIndices& at) { return there.at(at)->count(block) > 0; }))
      blocks.push_back(block);
  table.blocks = blocks.size();
  for (const LevelIndices& at : table.points)
    for (const auto& block : blocks) table.logs.push_back(there.at(at)->at(block));
  return table;
}

/// Takes means away, from the grand mean to pairs of factors, and keeps what each took.
class Decomposition {
 public:
  Decomposition(const Table& table, const Plan& plan) : plan_(plan), table_(table), rest_(table.logs) {}

  Effects decompose(std::string metric) {
    Effects effects;
    effects.metric = std::move(metric);
    effects.points = table_.points.size();
    effects.blocks = table_.blocks;
    effects.mean = std::exp(stats::takeMeans(rest_, [](size_t) { return 0; }).at(0).first);
    const double all = squares();
    if (all <= 0) return effects;
    stats::takeMeans(rest_, [&](size_t i) { return i % table_.blocks; });
    effects.between_blocks = (all - squares()) / all;
    inside_ = rest_;
    std::vector<size_t> varying;
    for (size_t f = 0; f < table_.grid.size(); ++f) {
      if (table_.grid[f].size() > 1) varying.push_back(f);
      effects.grid.emplace_back(plan_.factors[f].name, std::vector<std::string>());
      for (const unsigned level : table_.grid[f]) effects.grid.back().second.push_back(labelOf(f, level));
    }
    std::vector<FactorEffect> single, pairs;
    for (const size_t f : varying) single.push_back(take({f}, all));
    for (size_t i = 0; i < varying.size(); ++i)
      for (size_t j = i + 1; j < varying.size() && varying.size() > 1; ++j)
        pairs.push_back(take({varying[i], varying[j]}, all));
    const double before = squares();
    stats::takeMeans(rest_, [&](size_t i) { return i / table_.blocks; });
    effects.higher = varying.size() > 2 ? (before - squares()) / all : 0;
    effects.error = squares() / all;
    for (auto* kind : {&single, &pairs}) {
      std::ranges::stable_sort(*kind, std::greater<>(), &FactorEffect::share);
      effects.effects.insert(effects.effects.end(), kind->begin(), kind->end());
    }
    return effects;
  }

 private:
  double squares() const {
    double sum = 0;
    for (const double value : rest_) sum += value * value;
    return sum;
  }

  std::string labelOf(size_t factor, unsigned level) const {
    return level == plan::kInactive ? plan::kNoLevel : plan_.factors[factor].levels[level].label;
  }

  FactorEffect take(const std::vector<size_t>& factors, double all) {
    const double before = squares();
    std::map<size_t, LevelIndices> levels;
    std::vector<size_t> groups;  // by point
    for (const LevelIndices& point : table_.points) {
      size_t& group = groups.emplace_back();
      for (const size_t f : factors) {
        const auto& own = table_.grid[f];
        group = group * own.size() + size_t(std::ranges::find(own, point[f]) - own.begin());
      }
      levels[group] = point;
    }
    const auto group_of = [&](size_t i) { return groups[i / table_.blocks]; };
    FactorEffect effect;
    for (const size_t f : factors) effect.factors.push_back(plan_.factors[f].name);
    std::map<size_t, std::vector<double>> by_block;  // what each group's effect was there
    const auto inside = stats::takeMeans(inside_, [&](size_t i) { return std::pair(group_of(i), i % table_.blocks); });
    for (const auto& [where, group] : inside) by_block[where.first].push_back(group.first);
    for (const auto& [name, group] : stats::takeMeans(rest_, group_of)) {
      LevelEffect one;
      for (const size_t f : factors) one.labels.push_back(labelOf(f, levels[name][f]));
      one.ratio = std::exp(group.first);
      one.interval = stats::signedRank(by_block.at(name))
                         .mapped([](double log) { return std::exp(log); })
                         .interval(judge::kConfidence);
      effect.levels.push_back(std::move(one));
    }
    effect.share = (before - squares()) / all;
    return effect;
  }

  const Plan& plan_;
  const Table& table_;
  std::vector<double> rest_;    // of each point those of all blocks
  std::vector<double> inside_;  // the same, with effects taken away block by block
};

}  // namespace

std::optional<Effects> effectsOn(const judge::Index& index, const Metric& metric) {
  const Plan& plan = index.plan();
  std::map<std::string, Logs> logs;
  std::map<LevelIndices, const Logs*> there;
  Grid all(plan.factors.size());
  for (const Point& point : plan.points) {
    const std::vector<judge::PointValue> values = judge::valuesAt(index, metric, point);
    if (values.empty()) continue;
    Logs& own = logs[point.id];
    for (const judge::PointValue& value : values) {
      if (value.value <= 0) return std::nullopt;
      own[{value.block, value.session}] = std::log(value.value);
    }
    there[point.levels] = &own;
    for (size_t f = 0; f < all.size(); ++f) all[f].push_back(point.levels[f]);
  }
  for (auto& levels : all) {
    std::ranges::sort(levels);
    levels.erase(llvm::unique(levels), levels.end());
  }
  if (there.size() < 2) return std::nullopt;
  const Grid grid = largestGrid(all, there);
  if (grid.empty()) return std::nullopt;
  const Table table = tableOf(grid, there);
  if (table.blocks == 0) return std::nullopt;
  Effects effects = Decomposition(table, plan).decompose(metric.name);
  if (effects.effects.empty()) return std::nullopt;
  effects.left_out = there.size() - effects.points;
  return effects;
}

}  // namespace expc::describe
