// Lints on the points of a study: its rules and levels, comparisons, criteria, controls. Counts come from the
// survey; where a message names the rules to blame, expand::minimalConflict finds them. design_lints.cpp has
// the lints of the design.

#include "compiler/points/lints.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <set>

namespace expc::points {
namespace {

EXPC_DIAGNOSTIC(EmptyGrid, "the rules of the study '{0}' exclude every point");
EXPC_DIAGNOSTIC(EmptySelection, "{0} leaves no point in the study '{1}'");
EXPC_DIAGNOSTIC(UselessRule, "the rule '{0}' has no effect: it removes no point");
EXPC_DIAGNOSTIC(LevelNeverOccurs, "the {0} of '{1}' never occur{2}");
EXPC_DIAGNOSTIC(IdleValue, "'{0}' is never active, so its value has no effect");
EXPC_DIAGNOSTIC(NothingLearned, "with {0} = 0 nothing is learned");
EXPC_DIAGNOSTIC(HoldsWithout, "'{0}' can pass without {1}");
EXPC_DIAGNOSTIC(NoPartner, "the comparison '{0}' has no pair of points");
EXPC_DIAGNOSTIC(OutOfRange, "{0} is {1}, but must be {2}");
EXPC_DIAGNOSTIC(UnevenParts, "'{0}' aggregates other levels at {1} than at {2}");
EXPC_DIAGNOSTIC(SomeWithoutPartner, "{0} of {1} points of the comparison '{2}' have no point to compare with");
EXPC_DIAGNOSTIC(AmbiguousBaseline, "the comparison '{0}' has several baseline points for one point");
EXPC_DIAGNOSTIC(EmptyCriterion, "the criterion '{0}' has no point to judge");
EXPC_DIAGNOSTIC(ControlPoint, "the control '{0}' names {1}");
EXPC_DIAGNOSTIC(NothingPublished, "'{0}' publishes no value for the points of the criterion '{1}'");
EXPC_DIAGNOSTIC(PartlyPublished,
                "'{3}' publishes no value for {0} of {1} configurations of the criterion '{2}'; they are left out");
EXPC_DIAGNOSTIC(LevelWithoutPart, "'{0}' has no value at {1}, where the claim asks for it");
EXPC_DIAGNOSTIC(PlainQuantifier, "'at least' in '{0}' means {1}");
EXPC_DIAGNOSTIC(ExpectedInfeasible, "on '{0}' every point of the criterion '{1}' is estimated not to fit in memory");

// Levels that a message lists; the others are counted.
constexpr size_t kShownLevels = 5;

/// Whether a rule can exclude some combination of the factors that it reads. True if that cannot be told.
bool canRemove(const Space& space, const Space::Rule& rule) {
  // A rule over arguments alone removes nothing today; it guards against presets and overrides.
  const check::Rule& declared = space.study().rules[rule.index];
  if (rule.condition->factors().empty() && !declared.parameters.empty()) return true;
  return rule.condition->ever(rule.wanted ? expand::Condition::Answer::No : expand::Condition::Answer::Yes)
      .value_or(true);
}

}  // namespace

/// Notes at the rules to blame for the lack of points, and at the activities that these rules depend on.
void Lints::noteConflict(diag::Builder& builder, const std::vector<unsigned>& rules) const {
  // A factor that varies only under a condition may be what a rule is really about.
  std::set<unsigned> conditional;
  for (const Space::Rule& rule : space.rules()) {
    if (!is_contained(rules, rule.index)) continue;
    const check::Rule& declared = study.rules[rule.index];
    std::string because = declared.because.empty() ? "" : fmt::format(" (\"{}\")", declared.because);
    builder.note(declared.range, "this rule is {}{}", rules.size() == 1 ? "the cause" : "part of the conflict",
                 because);
    for (unsigned parameter : declared.parameters)
      if (int factor = study.factor_of[parameter]; factor >= 0 && space.activity(factor))
        conditional.insert(unsigned(factor));
  }
  for (unsigned factor : conditional) {
    const check::Factor& declared = study.factors[factor];
    builder.note(declared.active->range, "it depends on '{}', which varies only if this is true", declared.name);
  }
}

/// Reports the levels of one factor that occur at no point, in one diagnostic, with the rules to blame.
void Lints::levels(unsigned factor) const {
  const check::Factor& declared = study.factors[factor];
  std::vector<unsigned> missing;
  std::string labels;
  for (unsigned level = 0; level < declared.levels.size(); ++level) {
    if (survey.seen.count(factor, level) > 0) continue;
    if (missing.size() < kShownLevels) labels += (missing.empty() ? " " : ", ") + declared.levels[level].label;
    missing.push_back(level);
  }
  if (missing.empty()) return;
  if (missing.size() > kShownLevels) labels += fmt::format(" and {} more", missing.size() - kShownLevels);
  bool one = missing.size() == 1;
  auto builder = emitter.emit(declared.levels[missing[0]].range, LevelNeverOccurs, (one ? "level" : "levels") + labels,
                              declared.name, one ? "s" : "");
  if (declared.active) builder.note(declared.active->range, "'{}' varies only if this is true", declared.name);
  // To find the rules to blame, ask for a minimal conflict of a study that has only the missing levels.
  auto kept = selected.levels;
  kept[factor] = missing;
  if (auto rules = expand::minimalConflict(space, kept, factor)) noteConflict(builder, *rules);
}

/// A note for each reason of missing partners, the most frequent first.
void Lints::noteReasons(diag::Builder& builder, const Survey::OfComparison& of) const {
  constexpr size_t kShown = 5;
  std::vector<std::pair<uint64_t, Missing>> reasons;
  for (const auto& [missing, count] : of.reasons) reasons.emplace_back(count, missing);
  std::ranges::stable_sort(reasons, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < reasons.size() && i < kShown; ++i)
    builder.note("{}{}", reasons.size() > 1 ? fmt::format("{}: ", reasons[i].first) : "",
                 text(reasons[i].second, study, sources));
  if (reasons.size() > kShown) builder.note("and {} more reasons", reasons.size() - kShown);
}

/// Reports several baselines, with the factors that may make the difference.
void Lints::several(const check::Comparison& comparison, const Survey::OfComparison& of) const {
  auto builder = emitter.emit(comparison.range, AmbiguousBaseline, comparison.name);
  builder.note("{} {} several baselines, first at {}", of.several, of.several == 1 ? "point has" : "points have",
               expand::labelOf(study, of.example));
  // Only factors that are not active at the treated point can have several levels at the baseline.
  for (unsigned factor = 0; factor < study.factors.size(); ++factor)
    if (of.example[factor] == expand::kAbsent && study.factors[factor].active)
      builder.note(study.factors[factor].range, "'{}' does not vary there, but may at the baseline",
                   study.factors[factor].name);
}

/// Warns of claims that hold because combinations are missing: quantifiers range over the combinations that
/// exist (docs/language.md), so an author may have meant more than is asked.
void Lints::absent(const check::Criterion& criterion, const check::Assertion& assertion,
                   const Survey::OfAssertion& of) const {
  // First an `exists` over a factor that is inactive at some points: those form one more case.
  if (const int factor = of.shape.absentAmongOthers(); factor >= 0)
    emitter
        .emit(criterion.range, HoldsWithout, criterion.name, fmt::format("a level of '{}'", study.factors[factor].name))
        .note("points where it is inactive also count for 'exists'; exclude them with 'where'");
  // Then levels of a `forall` at which the condition of an `exists` leaves nothing: the claim is silent about
  // them.
  for (const check::Quantifier& quantifier : assertion.quantifiers) {
    if (quantifier.kind == ast::QuantifierKind::Exists) continue;
    for (unsigned factor : quantifier.factors)
      for (size_t level = 0; level < of.asked[factor].size(); ++level)
        if (of.asked[factor][level] == Survey::OfAssertion::OnlyDropped)
          return void(
              emitter
                  .emit(criterion.range, HoldsWithout, criterion.name,
                        fmt::format("anything at {}={}", study.factors[factor].name,
                                    study.factors[factor].levels[level].label))
                  .note("no point at that level satisfies the 'where' of 'exists', so 'forall' ignores the level"));
  }
}

void Lints::empty(source::Range range) const {
  auto builder = selection.empty() ? emitter.emit(range, EmptyGrid, study.name)
                                   : emitter.emit(range, EmptySelection, selection, study.name);
  if (auto rules = expand::minimalConflict(space, selected.levels)) noteConflict(builder, *rules);
}

void Lints::idle() const {
  const auto report = [&](source::Range at, std::string_view name, source::Range condition) {
    if (at.isValid()) emitter.emit(at, IdleValue, name).note(condition, "it is active only if this is true");
  };
  // Arguments are reported for each use that has them; a change once, at its own place.
  std::set<unsigned> said;
  for (const auto& [use, parameter] : survey.idle) {
    const check::Parameter& declared = study.parameter(parameter);
    const bool changed = selected.given_at[parameter].isValid();
    // A preset or `-D` reaches all workloads that have the parameter, so it is idle only if it is idle in each
    // of them.
    const auto idle_in = [&](unsigned other) { return is_contained(survey.idle, std::pair(other, parameter)); };
    bool everywhere = true;
    for (unsigned other = 0; other < study.uses.size(); ++other)
      everywhere &= study.uses[other].parameter_of[parameter] < 0 || idle_in(other);
    if (selection.empty())
      report(study.uses[use].argument_ranges[parameter], declared.name, declared.when->range);
    else if (changed && everywhere && said.insert(parameter).second)
      report(selected.given_at[parameter], declared.name, declared.when->range);
  }
  // A change that restricts a factor is idle if none of the kept levels occurs.
  for (unsigned factor = 0; factor < study.factors.size() && !selection.empty(); ++factor) {
    bool occurs = !study.factors[factor].active;
    for (const unsigned level : selected.levels[factor]) occurs |= survey.seen.count(factor, level) > 0;
    if (!occurs) report(selected.kept_at[factor], study.factors[factor].name, study.factors[factor].active->range);
  }
}

void Lints::nothingLearned() const {
  // These parameters scale every weight update in the workloads of this build: with 0 nothing is learned.
  static const std::set<std::string_view> kScales{"learning_rate", "beta", "alpha"};
  const auto report = [&](source::Range at, const std::string& name, const check::Value& value) {
    const check::Rational* number = value.asNumber();
    if (number && number->sign() == 0 && at.isValid()) emitter.emit(at, NothingLearned, name);
  };
  for (unsigned parameter = 0; parameter < study.workload->parameters.size(); ++parameter) {
    const std::string& name = study.parameter(parameter).name;
    const auto trains = [&](const check::Use& use) {
      return use.parameter_of[parameter] >= 0 && !use.workload->command;
    };
    // A command's parameter of this name may mean anything.
    if (!kScales.contains(name) || std::ranges::none_of(study.uses, trains)) continue;
    // A factor is looked at in the whole study only, level by level.
    if (const int factor = study.factor_of[parameter]; factor >= 0) {
      const check::Factor& varied = study.factors[factor];
      const auto at = std::ranges::find(varied.parameters, parameter) - varied.parameters.begin();
      for (const check::Level& level : varied.levels)
        if (selection.empty()) report(level.range, name, level.values[at]);
      continue;
    }
    // A change reaches all uses, so report it once.
    bool said = false;
    for (unsigned use = 0; use < study.uses.size(); ++use) {
      const auto& value = selected.arguments[use][parameter];
      if (!trains(study.uses[use]) || !value || said) continue;
      report(selection.empty() ? study.uses[use].argument_ranges[parameter] : selected.given_at[parameter], name,
             *value);
      said = !selection.empty();
    }
  }
}

void Lints::grid() const {
  for (const Space::Rule& rule : space.rules()) {
    const check::Rule& declared = study.rules[rule.index];
    // A workload's rules state what it supports; that a study does not touch a limit is no mistake.
    if (!declared.of_workload && !canRemove(space, rule))
      emitter.emit(declared.range, UselessRule, declared.name.empty() ? declared.text : declared.name);
  }
  for (unsigned factor = 0; factor < space.width(); ++factor) levels(factor);
}

void Lints::pairs() const {
  for (const auto& [i, comparison] : llvm::enumerate(study.comparisons)) {
    const Survey::OfComparison& of = survey.comparisons[i];
    if (of.several > 0) {
      // Report it once, at the inner comparison whose baselines they are.
      if (comparison.inner && survey.comparisons[*comparison.inner].several > 0) continue;
      several(comparison, of);
    } else if (of.pairs == 0) {
      // The inner comparison reports its own lack of pairs.
      if (comparison.inner && survey.comparisons[*comparison.inner].pairs == 0) continue;
      auto builder = emitter.emit(comparison.range, NoPartner, comparison.name);
      noteReasons(builder, of);
      if (comparison.aggregates())
        builder.note("there is nothing to aggregate: no point satisfies its 'where'");
      else if (of.without == 0)
        builder.note(study.factors[comparison.over].range, "every point is at the level that it compares with");
    } else if (!of.weightless.empty()) {
      emitter.emit(comparison.weight->range, OutOfRange, fmt::format("the weight of '{}'", comparison.name),
                   fmt::format("zero, negative or missing at {}", expand::labelOf(study, of.weightless)), "above zero");
    }
  }
}

void Lints::somePairs() const {
  std::set<Missing> said;
  for (const auto& [i, comparison] : llvm::enumerate(study.comparisons)) {
    const Survey::OfComparison& of = survey.comparisons[i];
    if (of.without == 0 || comparison.incomplete) continue;
    if (comparison.aggregates()) {
      // Levels that all groups lack alike leave nothing to compare that differs.
      if (of.uneven.empty()) continue;
      auto builder = emitter.emit(comparison.range, UnevenParts, comparison.name, expand::labelOf(study, of.uneven[1]),
                                  expand::labelOf(study, of.uneven[0]));
      noteReasons(builder, of);
      builder.note("restrict it with 'where' to levels that occur everywhere, or accept it with 'partial'");
      continue;
    }
    // Report a comparison if some reason is its own, or one of the workload's that was not reported yet.
    bool fresh = false;
    for (const auto& [missing, count] : of.reasons) {
      const bool built_in =
          missing.obstacle.kind == expand::Obstacle::Kind::Rule && study.rules[missing.obstacle.rule].of_workload;
      fresh |= !built_in || said.insert(missing).second;
    }
    if (!fresh) continue;
    auto builder =
        emitter.emit(comparison.range, SomeWithoutPartner, of.without, of.without + of.pairs, comparison.name);
    noteReasons(builder, of);
    builder.note("exclude both points of each pair, or accept it with 'partial'");
  }
}

/// Reports what the parts of a composed claim do not fit to each other, or to its quantifiers.
void Lints::joined(const check::Criterion& criterion, const JoinedClaim& joined) const {
  if (const auto& gap = joined.gap()) {
    const check::Assertion &without = criterion.assertions[gap->without], &with = criterion.assertions[gap->with];
    return void(
        emitter.emit(without.range, LevelWithoutPart, without.text, expand::labelOf(study, gap->levels))
            .note(with.range, "'{}' has a value there: select a level, or restrict it with 'where'", with.text));
  }
  const auto plain = joined.plain();
  if (plain == JoinedClaim::Plain::No) return;
  const bool all = plain == JoinedClaim::Plain::All;
  emitter.emit(criterion.range, PlainQuantifier, criterion.name, all ? "all of them" : "one of them")
      .note("write '{}'", all ? "forall" : "exists");
}

void Lints::criteria() const {
  for (size_t i = 0; i < selected.criteria.size(); ++i) {
    const check::Criterion& criterion = *selected.criteria[i];
    const Survey::OfCriterion& of = survey.criteria[i];
    bool complete = true, asks = true;
    for (size_t a = 0; a < criterion.assertions.size() && complete; ++a) {
      const check::Assertion& assertion = criterion.assertions[a];
      const Survey::OfAssertion& own = of.assertions[a];
      // Without pairs the comparison was reported, and the criterion would only repeat it.
      complete = assertion.infeasible || !assertion.comparison ||
                 (survey.comparisons[*assertion.comparison].pairs > 0 &&
                  survey.comparisons[*assertion.comparison].several == 0);
      if (!complete) continue;
      if (const auto& factors = own.reading.several(); !factors.empty()) {
        check::reportSilent(emitter, study, criterion.name, criterion.range, assertion, factors, own.reading.example());
        complete = false;
        continue;
      }
      // Points that exceed the memory do not count as missing: the author excluded them by `where feasible`.
      if (own.shape.cells() + own.unpublished + own.unfit > 0)
        // It asks about some point, so it is not empty; look for what it misses.
        absent(criterion, assertion, own);
      else
        asks = false;
      complete = complete && own.unpublished + own.unfit == 0;
    }
    if (!asks)
      emitter.emit(criterion.range, EmptyCriterion, criterion.name)
          .note("no point has the levels that it selects and satisfies its 'where'");
    else if (complete && of.joined)
      joined(criterion, *of.joined);
  }
}

void Lints::controls() const {
  for (const check::Control& control : study.controls) {
    std::vector<std::vector<unsigned>> points;
    // Two points are enough to know that there are several.
    findPinned(space, control.pins, [&](Levels point) {
      points.emplace_back(point.begin(), point.end());
      return points.size() < 2;
    });
    if (points.size() == 1) continue;
    auto builder = emitter.emit(control.range, ControlPoint, control.name, points.empty() ? "no point" : "several");
    for (const auto& point : points) builder.note("there is one at {}", expand::labelOf(study, point));
    if (!points.empty()) builder.note("give a level to each factor that varies there");
    if (points.empty()) builder.note("a rule removes it, or a factor does not vary there");
  }
}

void Lints::published() const {
  for (size_t i = 0; i < survey.criteria.size(); ++i)
    for (size_t a = 0; a < survey.criteria[i].assertions.size(); ++a) {
      const check::Criterion& criterion = *selected.criteria[i];
      const Survey::OfAssertion& of = survey.criteria[i].assertions[a];
      if (of.unpublished == 0) continue;
      const check::Published& reference = study.references[*criterion.assertions[a].like];
      std::string example = expand::labelOf(study, of.example);
      if (of.shape.cells() == 0)
        emitter.emit(criterion.range, NothingPublished, reference.name, criterion.name)
            .note(reference.range, "rows are matched by their parameter columns; no row matches {}", example);
      else
        emitter
            .emit(criterion.range, PartlyPublished, of.unpublished, of.unpublished + of.shape.cells(), criterion.name,
                  reference.name)
            .note(reference.range, "such as the one at {}", example);
    }
}

void Lints::infeasible(const check::System& system) const {
  for (size_t i = 0; i < survey.criteria.size(); ++i) {
    const check::Criterion& criterion = *selected.criteria[i];
    const auto hopeless = [](const Survey::OfAssertion& of) { return of.cells > 0 && of.infeasible == of.cells; };
    const std::vector<Survey::OfAssertion>& all = survey.criteria[i].assertions;
    if (std::ranges::any_of(criterion.assertions, &check::Assertion::infeasible) ||
        !std::ranges::all_of(all, hopeless) || !reported.fresh(diag::Kind::ExpectedInfeasible, &criterion, {}))
      continue;
    emitter.emit(criterion.range, ExpectedInfeasible, system.name, criterion.name)
        .note(all[0].estimate_range, "{}", all[0].estimate);
  }
}

}  // namespace expc::points
