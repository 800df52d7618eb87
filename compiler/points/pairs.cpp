#include "compiler/points/pairs.h"

#include <fmt/format.h>

namespace expc::points {
namespace {

using expand::kAbsent;
using expand::kOpen;
using expand::Obstacle;

/// Chooses the factors in walking order; where one is active here and not at the treated point, tries all its levels.
struct Search {
  const expand::Space& space;
  expand::Levels treated;
  unsigned over, level;
  std::vector<unsigned> levels = std::vector<unsigned>(treated.size(), kOpen);
  Pairs::Answer answer = {};
  unsigned found = 0;
  bool known = false;

  Pairs::Answer run() {
    descend(0);
    answer.found = found == 0 ? Pairs::Found::None : found == 1 ? Pairs::Found::One : Pairs::Found::Several;
    return std::move(answer);
  }

  void descend(size_t depth) {
    if (found > 1) return;
    if (depth == levels.size()) return finish();
    unsigned factor = space.order()[depth];
    bool active = space.active(factor, levels);
    if (factor == over) {
      if (!active) return obstruct({Obstacle::Kind::Inactive, factor, 0});
      levels[factor] = level;
      descend(depth + 1);
    } else if (!active || treated[factor] != kAbsent) {
      levels[factor] = active ? treated[factor] : kAbsent;
      descend(depth + 1);
    } else {
      for (unsigned level : space.selected().levels[factor]) {
        levels[factor] = level;
        descend(depth + 1);
      }
    }
    levels[factor] = kOpen;
  }

  void finish() {
    auto obstacle = space.whyNot(levels);
    if (obstacle) return obstruct(*obstacle);
    if (++found == 1) answer.partner = levels;
  }

  void obstruct(const Obstacle& obstacle) {
    if (known) return;
    known = true;
    bool left_out = obstacle.kind == Obstacle::Kind::LeftOut;
    answer.missing = {obstacle, left_out ? levels[obstacle.factor] : 0};
  }
};

}  // namespace

std::string ruleName(const check::Rule& rule, const source::SourceManager& sources) {
  if (!rule.name.empty()) return rule.name;
  return fmt::format("line {}", sources.position(rule.range.file, rule.range.begin).line);
}

std::string text(const Missing& missing, const check::Study& study, const source::SourceManager& sources) {
  const Obstacle& obstacle = missing.obstacle;
  switch (obstacle.kind) {
    case Obstacle::Kind::LeftOut: {
      const check::Factor& factor = study.factors[obstacle.factor];
      return fmt::format("the selection leaves out {}={}", factor.name, factor.levels[missing.level].label);
    }
    case Obstacle::Kind::Rule: {
      const check::Rule& rule = study.rules[obstacle.rule];
      std::string because = rule.because.empty() ? "" : fmt::format(" ({})", rule.because);
      return fmt::format("the rule of {} removes it{}", ruleName(rule, sources), because);
    }
    default:
      return fmt::format("'{}' does not vary there", study.factors[obstacle.factor].name);
  }
}

Pairs::Answer Pairs::at(const check::Comparison& comparison, expand::Levels point, unsigned level) const {
  // Nearly always nothing else changes with the level.
  Answer answer;
  answer.partner.assign(point.begin(), point.end());
  answer.partner[comparison.over] = level;
  if (space_.contains(answer.partner)) {
    answer.found = Found::One;
    return answer;
  }
  return Search{space_, point, comparison.over, level}.run();
}

Pairs::Answer Pairs::partner(const check::Comparison& comparison, expand::Levels point) const {
  unsigned own = point[comparison.over];
  if (own == kAbsent) return {};
  if (!comparison.previous) return own == comparison.against ? Answer{} : at(comparison, point, comparison.against);
  // The nearest level before that the study has there, whether or not the selection keeps it.
  Answer first;
  for (unsigned level = own; level-- > 0;) {
    Answer answer = at(comparison, point, level);
    bool there = answer.found != Found::None || answer.missing.obstacle.kind == Obstacle::Kind::LeftOut;
    if (there) return answer;
    if (first.found == Found::NotTreated) first = std::move(answer);
  }
  return first;
}

Pairs::Answer Pairs::value(const check::Comparison& comparison, expand::Levels point) const {
  Answer outer = partner(comparison, point);
  if (outer.found != Found::One || !comparison.inner) return outer;
  const check::Comparison& inner = space_.study().comparisons[*comparison.inner];
  Answer here = value(inner, point);
  if (here.found != Found::One) return here;
  Answer there = value(inner, outer.partner);
  if (there.found != Found::One) return there;
  return outer;
}

void Pairs::reads(const check::Comparison* comparison, expand::Levels point,
                  llvm::function_ref<void(expand::Levels)> visit) const {
  if (!comparison) return visit(point);
  const std::vector<unsigned> other = partner(*comparison, point).partner;
  const check::Comparison* inner = comparison->inner ? &space_.study().comparisons[*comparison->inner] : nullptr;
  reads(inner, point, visit);
  reads(inner, other, visit);
}

}  // namespace expc::points
