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
  const Space& space;
  const check::Comparison& aggregate;
  Levels at;
  /// False ends the walk.
  function_ref<bool(Levels)> visit;
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
Partner partAt(const Space& space, const check::Comparison& aggregate, Levels levels) {
  if (const auto* where = space.where(aggregate); where && !where->holds(levels)) return {};
  if (const auto obstacle = space.whyNot(levels)) {
    const bool left_out = obstacle->kind == expand::Obstacle::Kind::LeftOut;
    return {Partner::Found::None, {}, {*obstacle, left_out ? levels[obstacle->factor] : 0}};
  }
  if (const check::Comparison* inner = space.study().comparison(aggregate.inner))
    return Compared{space, *inner, levels}.value();
  return {Partner::Found::One, {}};
}

}  // namespace

Parts Compared::parts() const {
  Parts parts;
  // An aggregate of an aggregate walks over the levels of both, and the inner one tells what is missing of its own.
  const check::Comparison* inner = space.study().comparison(comparison.inner);
  const bool counts = !inner || inner->gone.empty();
  Group{space, comparison, point,
        [&](Levels levels) {
          const Partner part = partAt(space, comparison, levels);
          if (part) parts.points.emplace_back(levels.begin(), levels.end());
          if (part.found == Partner::Found::None && counts) ++parts.missing[part.missing];
          return true;
        }}
      .descend();
  return parts;
}

Partner Compared::aggregated() const {
  if (Partner own = partAt(space, comparison, point); !own)
    return own.found == Partner::Found::Several ? own : Partner();
  bool first = false;
  Group{space, comparison, point,
        [&](Levels levels) {
          if (!partAt(space, comparison, levels)) return true;
          first = std::ranges::equal(levels, point);
          return false;
        }}
      .descend();
  return first ? Partner{Partner::Found::One, {point.begin(), point.end()}} : Partner();
}

std::optional<double> Compared::weight() const {
  expand::Assignment at(space.selected());
  at.set(point);
  if (at.resolve()) return std::nullopt;
  const check::Outcome outcome = at.evaluate(*comparison.weight, expand::View::Study);
  const auto* value = std::get_if<check::Value>(&outcome);
  return value && value->asNumber() ? std::optional(value->asNumber()->toDouble()) : std::nullopt;
}

plan::TermPtr Compared::aggregateTerm(function_ref<plan::TermPtr(Levels)> part_value,
                                      function_ref<std::string(Levels)> name) const {
  using Function = check::Comparison::Function;
  using enum plan::AggregateTerm::Function;
  plan::AggregateTerm term{comparison.function == Function::Geomean  ? Geomean
                           : comparison.function == Function::Mean   ? Mean
                           : comparison.function == Function::Sum    ? Sum
                           : comparison.function == Function::Median ? Median
                           : comparison.function == Function::Min    ? Min
                                                                     : Max,
                           {},
                           {}};
  for (const std::vector<unsigned>& part : parts().points) {
    term.parts.push_back(part_value(part));
    if (comparison.weight)
      term.weights.push_back(termOf(plan::ConstantTerm{Compared{space, comparison, part}.weight().value_or(0)}));
    if (comparison.weight_metric)
      term.weights.push_back(
          termOf(plan::MetricTerm{space.study().metrics[*comparison.weight_metric].name, name(part)}));
  }
  return termOf(std::move(term));
}

}  // namespace expc::points
