#include "compiler/points/grid_lints.h"

#include <algorithm>
#include <set>

namespace expc::points {
namespace {

EXPC_DIAGNOSTIC(TooManyPoints, Error, "the study '{0}' has more than {1} {2}");
EXPC_DIAGNOSTIC(EmptyGrid, Error, "the rules leave the study '{0}' no point");
EXPC_DIAGNOSTIC(UselessRule, Warning, "the rule '{0}' removes no point");
EXPC_DIAGNOSTIC(LevelNeverOccurs, Warning, "the {0} of '{1}' never occur{2}");

EXPC_DIAGNOSTIC(IdleValue, Warning, "'{0}' is active at no point, so what is given to it changes nothing");

constexpr size_t kShownLevels = 5;
constexpr uint64_t kMaxJudged = 5'000'000;  // so many combinations are looked at in any case

/// Whether a rule breaks at some combination of the factors that it reads. True where that cannot be told.
bool canRemove(const expand::Space& whole, const expand::Space::Rule& rule) {
  // What only asks about arguments guards presets and overrides.
  const check::Rule& declared = whole.study().rules[rule.index];
  if (rule.condition->factors().empty() && !declared.parameters.empty()) return true;
  return rule.condition->ever(rule.wanted ? expand::Condition::Answer::No : expand::Condition::Answer::Yes)
      .value_or(true);
}

void lintLevels(const expand::Space& whole, unsigned factor, const Seen& seen, diag::Emitter& emitter) {
  const check::Factor& declared = whole.study().factors[factor];
  std::vector<unsigned> missing;
  std::string labels;
  for (unsigned level = 0; level < declared.levels.size(); ++level) {
    if (seen.count(factor, level) > 0) continue;
    if (missing.size() < kShownLevels) labels += (missing.empty() ? " " : ", ") + declared.levels[level].label;
    missing.push_back(level);
  }
  if (missing.empty()) return;
  if (missing.size() > kShownLevels) labels += fmt::format(" and {} more", missing.size() - kShownLevels);
  bool one = missing.size() == 1;
  auto builder = emitter.build(declared.levels[missing[0]].range, LevelNeverOccurs, (one ? "level" : "levels") + labels,
                               declared.name, one ? "s" : "");
  if (declared.active) builder.note(declared.active->range, "'{}' varies only where this holds", declared.name);
  auto kept = whole.selected().levels;
  kept[factor] = missing;
  if (auto rules = expand::minimalConflict(whole, kept, factor)) noteConflict(builder, whole, *rules);
  builder.emit();
}

}  // namespace

std::string ruleName(const check::Rule& rule, const source::SourceManager& sources) {
  if (!rule.name.empty()) return rule.name;
  return fmt::format("line {}", sources.position(rule.range.file, rule.range.begin).line);
}

Seen::Seen(const expand::Space& space) {
  for (const check::Factor& factor : space.study().factors) counts_.emplace_back(factor.levels.size(), 0);
}

void reportTooMany(const check::Study& study, uint64_t most, bool exhausted, diag::Emitter& emitter) {
  emitter
      .build(study.range, TooManyPoints, study.name, exhausted ? kMaxJudged : most,
             exhausted ? "combinations that its rules must judge one by one" : "points")
      .note({}, "restrict its factors with 'only' in a preset, with -D, or with rules over the first factors")
      .emit();
}

void noteConflict(diag::Builder& builder, const expand::Space& space, const std::vector<unsigned>& rules) {
  std::set<unsigned> conditional;
  for (const expand::Space::Rule& rule : space.rules()) {
    if (std::find(rules.begin(), rules.end(), rule.index) == rules.end()) continue;
    const check::Rule& declared = space.study().rules[rule.index];
    std::string because = declared.because.empty() ? "" : fmt::format(" because \"{}\"", declared.because);
    builder.note(declared.range, "this rule is {}to blame{}", rules.size() == 1 ? "" : "one of those ", because);
    for (unsigned parameter : declared.parameters)
      if (int factor = space.study().factor_of[parameter]; factor >= 0 && space.activity(factor))
        conditional.insert(static_cast<unsigned>(factor));
  }
  for (unsigned factor : conditional) {
    const check::Factor& declared = space.study().factors[factor];
    builder.note(declared.active->range, "it depends on '{}', which varies only where this holds", declared.name);
  }
}

void lintEmpty(const expand::Space& whole, diag::Emitter& emitter) {
  auto builder = emitter.build(whole.study().range, EmptyGrid, whole.study().name);
  if (auto rules = expand::minimalConflict(whole, whole.selected().levels)) noteConflict(builder, whole, *rules);
  builder.emit();
}

void lintIdle(const expand::Space& space, const Seen& seen, const std::vector<std::pair<unsigned, unsigned>>& idle,
              bool whole, diag::Emitter& emitter) {
  const check::Study& study = space.study();
  const select::Selected& selected = space.selected();
  const auto report = [&](source::Range at, std::string_view name, source::Range condition) {
    if (at.isValid()) emitter.build(at, IdleValue, name).note(condition, "it is active only where this holds").emit();
  };
  std::set<unsigned> said;
  for (const auto& [use, parameter] : idle) {
    const check::Parameter& declared = study.workload->parameters[parameter];
    const bool changed = selected.given_at[parameter].isValid();
    // A change reaches all workloads that have the parameter, so it is idle where it is in each of these.
    const auto idle_in = [&](unsigned other) { return std::ranges::count(idle, std::pair(other, parameter)) > 0; };
    bool everywhere = true;
    for (unsigned other = 0; other < study.uses.size(); ++other)
      everywhere &= study.uses[other].parameter_of[parameter] < 0 || idle_in(other);
    if (whole)
      report(study.uses[use].argument_ranges[parameter], declared.name, declared.when->range);
    else if (changed && everywhere && said.insert(parameter).second)
      report(selected.given_at[parameter], declared.name, declared.when->range);
  }
  for (unsigned factor = 0; factor < study.factors.size() && !whole; ++factor) {
    bool occurs = !study.factors[factor].active;
    for (const unsigned level : selected.levels[factor]) occurs |= seen.count(factor, level) > 0;
    if (!occurs) report(selected.kept_at[factor], study.factors[factor].name, study.factors[factor].active->range);
  }
}

void lintGrid(const expand::Space& whole, const Seen& seen, diag::Emitter& emitter) {
  for (const expand::Space::Rule& rule : whole.rules()) {
    const check::Rule& declared = whole.study().rules[rule.index];
    if (!declared.of_workload && !canRemove(whole, rule))
      emitter.emit(declared.range, UselessRule, declared.name.empty() ? declared.text : declared.name);
  }
  for (unsigned factor = 0; factor < whole.width(); ++factor) lintLevels(whole, factor, seen, emitter);
}

}  // namespace expc::points
