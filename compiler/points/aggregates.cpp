// Aggregates over the points of a study. They ask the space as comparisons do, so that no list of points is needed: a
// group is walked when its first part is met, and every other point of it is told by the first part alone.

#include <algorithm>
#include <tuple>

#include "compiler/points/pairs.h"

namespace expc::points {
namespace {

using expand::kAbsent;
using expand::kOpen;

/// Walks over the combinations of levels that agree with a point but for the factors that an aggregate lacks.
struct Group {
  const expand::Space& space;
  const check::Comparison& aggregate;
  expand::Levels at;
  /// False ends the walk.
  llvm::function_ref<bool(expand::Levels)> visit;
  std::vector<unsigned> levels = std::vector<unsigned>(at.size(), kOpen);

  bool descend(size_t depth = 0) {
    if (depth == levels.size()) return visit(levels);
    const unsigned factor = space.order()[depth];
    const bool active = space.active(factor, levels), varies = aggregate.lacks(factor);
    if (!varies && active != (at[factor] != kAbsent)) return true;
    bool more = true;
    const auto take = [&](unsigned level) {
      levels[factor] = level;
      return more = descend(depth + 1);
    };
    if (varies && active)
      std::ignore = std::ranges::all_of(space.selected().levels[factor], take);
    else
      take(active ? at[factor] : kAbsent);
    levels[factor] = kOpen;
    return more;
  }
};

/// Whether the group has a part at these levels: One or None. NotTreated where `where` or the inner comparison does not
/// ask for one.
Partner partAt(const expand::Space& space, const check::Comparison& aggregate, expand::Levels levels) {
  if (const auto* where = space.where(aggregate); where && !where->holds(levels)) return {};
  if (const auto obstacle = space.whyNot(levels)) {
    const bool left_out = obstacle->kind == expand::Obstacle::Kind::LeftOut;
    return {Partner::Found::None, {}, {*obstacle, left_out ? levels[obstacle->factor] : 0}};
  }
  if (const check::Comparison* inner = space.study().comparison(aggregate.inner))
    return comparedAt(space, *inner, levels);
  return {Partner::Found::One, {}};
}

}  // namespace

Parts partsAt(const expand::Space& space, const check::Comparison& aggregate, expand::Levels point) {
  Parts parts;
  // An aggregate of an aggregate walks over the levels of both, and the inner one tells what is missing of its own.
  const check::Comparison* inner = space.study().comparison(aggregate.inner);
  const bool counts = !inner || inner->gone.empty();
  Group{space, aggregate, point,
        [&](expand::Levels levels) {
          const Partner part = partAt(space, aggregate, levels);
          if (part.found == Partner::Found::One) parts.points.emplace_back(levels.begin(), levels.end());
          if (part.found == Partner::Found::None && counts) ++parts.missing[part.missing];
          return true;
        }}
      .descend();
  return parts;
}

Partner aggregatedAt(const expand::Space& space, const check::Comparison& aggregate, expand::Levels point) {
  if (Partner own = partAt(space, aggregate, point); own.found != Partner::Found::One)
    return own.found == Partner::Found::Several ? own : Partner();
  bool first = false;
  Group{space, aggregate, point,
        [&](expand::Levels levels) {
          if (partAt(space, aggregate, levels).found != Partner::Found::One) return true;
          first = std::ranges::equal(levels, point);
          return false;
        }}
      .descend();
  return first ? Partner{Partner::Found::One, {point.begin(), point.end()}} : Partner();
}

std::optional<double> weightAt(const expand::Space& space, const check::Comparison& aggregate, expand::Levels part) {
  expand::Assignment at(space.selected());
  at.set(part);
  if (at.resolve()) return std::nullopt;
  const check::Outcome outcome = at.evaluate(*aggregate.weight, expand::View::Study);
  const auto* value = std::get_if<check::Value>(&outcome);
  return value && value->asNumber() ? std::optional(value->asNumber()->toDouble()) : std::nullopt;
}

plan::TermPtr aggregateTerm(const expand::Space& space, const check::Comparison& aggregate, expand::Levels point,
                            llvm::function_ref<plan::TermPtr(expand::Levels)> value,
                            llvm::function_ref<std::string(expand::Levels)> name) {
  using Function = check::Comparison::Function;
  using enum plan::AggregateTerm::Function;
  plan::AggregateTerm term{aggregate.function == Function::Geomean  ? Geomean
                           : aggregate.function == Function::Mean   ? Mean
                           : aggregate.function == Function::Sum    ? Sum
                           : aggregate.function == Function::Median ? Median
                           : aggregate.function == Function::Min    ? Min
                                                                    : Max,
                           {},
                           {}};
  for (const std::vector<unsigned>& part : partsAt(space, aggregate, point).points) {
    term.parts.push_back(value(part));
    if (aggregate.weight)
      term.weights.push_back(termOf(plan::ConstantTerm{weightAt(space, aggregate, part).value_or(0)}));
    if (aggregate.weight_metric)
      term.weights.push_back(
          termOf(plan::MetricTerm{space.study().metrics[*aggregate.weight_metric].name, name(part)}));
  }
  return termOf(std::move(term));
}

void forEachTreated(const expand::Space& space, const check::Comparison* comparison, expand::Levels point,
                    llvm::function_ref<void(expand::Levels)> visit) {
  if (!comparison || comparison->function == check::Comparison::Function::OfProcess) return visit(point);
  const check::Comparison* inner = space.study().comparison(comparison->inner);
  if (!comparison->aggregates()) return forEachTreated(space, inner, point, visit);
  for (const std::vector<unsigned>& part : partsAt(space, *comparison, point).points)
    forEachTreated(space, inner, part, visit);
}

}  // namespace expc::points
