// Comparisons, criteria, controls.

#include "compiler/points/lints.h"

namespace expc::points {
namespace {

EXPC_DIAGNOSTIC(HoldsWithout, Warning, "'{0}' can hold without {1}");
EXPC_DIAGNOSTIC(NoPartner, Error, "the comparison '{0}' has no pair of points");
EXPC_DIAGNOSTIC(SomeWithoutPartner, Warning, "{0} of {1} points of the comparison '{2}' have no partner");
EXPC_DIAGNOSTIC(AmbiguousBaseline, Error, "the comparison '{0}' has several baseline points for one point");
EXPC_DIAGNOSTIC(EmptyCriterion, Error, "the criterion '{0}' has no point to judge");
EXPC_DIAGNOSTIC(ControlPoint, Error, "the control '{0}' names {1}");
EXPC_DIAGNOSTIC(NothingPublished, Error, "nothing is published in '{0}' for the points of the criterion '{1}'");
EXPC_DIAGNOSTIC(PartlyPublished, Warning,
                "for {0} of {1} cells of the criterion '{2}' nothing is published in '{3}'; they are left out");
EXPC_DIAGNOSTIC(ExpectedInfeasible, Error,
                "on '{0}' every point of the criterion '{1}' is expected to run out of memory");

/// A note for each reason, the most frequent ones first.
void noteReasons(diag::Builder& builder, const Survey::OfComparison& of, const check::Study& study,
                 const source::SourceManager& sources) {
  constexpr size_t kShown = 5;
  std::vector<std::pair<uint64_t, Missing>> reasons;
  for (const auto& [missing, count] : of.reasons) reasons.emplace_back(count, missing);
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < reasons.size() && i < kShown; ++i)
    builder.note({}, "{}{}", reasons.size() > 1 ? fmt::format("{}: ", reasons[i].first) : "",
                 text(reasons[i].second, study, sources));
  if (reasons.size() > kShown) builder.note({}, "and {} more reasons", reasons.size() - kShown);
}

void reportSeveral(const expand::Space& whole, const check::Comparison& comparison, const Survey::OfComparison& of,
                   diag::Emitter& emitter) {
  const check::Study& study = whole.study();
  auto builder = emitter.build(comparison.range, AmbiguousBaseline, comparison.name);
  builder.note({}, "{} {} several; the first is the one at {}", of.several,
               of.several == 1 ? "point has" : "points have", expand::labelOf(study, of.example));
  const check::Comparison* at = &comparison;
  while (at->inner) at = &study.comparisons[*at->inner];
  for (unsigned factor = 0; factor < study.factors.size(); ++factor)
    if (of.example[factor] == expand::kAbsent && study.factors[factor].active)
      builder.note(study.factors[factor].range, "'{}' does not vary there, but may at the baseline",
                   study.factors[factor].name);
  builder.emit();
}

}  // namespace

void lintPairs(const expand::Space& whole, const Survey& survey, const source::SourceManager& sources,
               diag::Emitter& emitter) {
  const check::Study& study = whole.study();
  for (size_t i = 0; i < study.comparisons.size(); ++i) {
    const check::Comparison& comparison = study.comparisons[i];
    const Survey::OfComparison& of = survey.comparisons[i];
    if (of.several > 0) {
      // Once, at the comparison whose baselines they are.
      if (comparison.inner && survey.comparisons[*comparison.inner].several > 0) continue;
      reportSeveral(whole, comparison, of, emitter);
    } else if (of.pairs == 0) {
      // What a comparison inside it lacks is said there.
      if (comparison.inner && survey.comparisons[*comparison.inner].pairs == 0) continue;
      auto builder = emitter.build(comparison.range, NoPartner, comparison.name);
      noteReasons(builder, of, study, sources);
      if (of.without == 0)
        builder.note(study.factors[comparison.over].range, "every point is at the level that it compares with");
      builder.emit();
    }
  }
}

void lintSomePairs(const expand::Space& whole, const Survey& survey, const source::SourceManager& sources,
                   diag::Emitter& emitter) {
  const check::Study& study = whole.study();
  std::set<Missing> said;
  for (size_t i = 0; i < study.comparisons.size(); ++i) {
    const check::Comparison& comparison = study.comparisons[i];
    const Survey::OfComparison& of = survey.comparisons[i];
    if (of.without == 0 || comparison.incomplete) continue;
    bool fresh = false;
    for (const auto& [missing, count] : of.reasons) {
      const bool built_in =
          missing.obstacle.kind == expand::Obstacle::Kind::Rule && study.rules[missing.obstacle.rule].of_workload;
      fresh |= !built_in || said.insert(missing).second;
    }
    if (!fresh) continue;
    auto builder =
        emitter.build(comparison.range, SomeWithoutPartner, of.without, of.without + of.pairs, comparison.name);
    noteReasons(builder, of, study, sources);
    builder.note({}, "leave out both sides of a pair, or accept it by '{}'",
                 fmt::format("allow {}", diag::code(diag::Kind::SomeWithoutPartner)));
    builder.emit();
  }
}

namespace {

/// What a claim can hold without: quantifiers range over the combinations that there are (docs/language.md).
void lintAbsent(const expand::Space& whole, const check::Criterion& criterion, const Survey::OfCriterion& of,
                diag::Emitter& emitter) {
  const check::Study& study = whole.study();
  if (const int factor = of.shape.absentAmongOthers(); factor >= 0)
    emitter
        .build(criterion.range, HoldsWithout, criterion.name,
               fmt::format("a level of '{}'", study.factors[factor].name))
        .note({},
              "where it is not active the other factors' levels are one more case of 'exists'; leave them out with "
              "'where'")
        .emit();
  for (const check::Quantifier& quantifier : criterion.quantifiers) {
    if (quantifier.kind == ast::QuantifierKind::Exists) continue;
    for (unsigned factor : quantifier.factors)
      for (size_t level = 0; level < of.asked[factor].size(); ++level)
        if (of.asked[factor][level] == Survey::OfCriterion::OnlyDropped)
          return emitter
              .build(criterion.range, HoldsWithout, criterion.name,
                     fmt::format("anything at {}={}", study.factors[factor].name,
                                 study.factors[factor].levels[level].label))
              .note({}, "nothing there satisfies the 'where' of 'exists', so 'forall' passes over it")
              .emit();
  }
}

}  // namespace

void lintCriteria(const expand::Space& whole, const Survey& survey, diag::Emitter& emitter) {
  for (size_t i = 0; i < whole.selected().criteria.size(); ++i) {
    const check::Criterion& criterion = *whole.selected().criteria[i];
    bool paired =
        criterion.infeasible || !criterion.comparison ||
        (survey.comparisons[*criterion.comparison].pairs > 0 && survey.comparisons[*criterion.comparison].several == 0);
    if (!paired) continue;
    // What a machine has no memory for is not asked there; that is what `where feasible` says.
    const Survey::OfCriterion& of = survey.criteria[i];
    if (of.shape.cells() + of.unpublished + of.unfit > 0) {
      lintAbsent(whole, criterion, of, emitter);
      continue;
    }
    emitter.build(criterion.range, EmptyCriterion, criterion.name)
        .note({}, "no point has the levels that it selects and satisfies its 'where'")
        .emit();
  }
}

void lintControls(const expand::Space& whole, diag::Emitter& emitter) {
  for (const check::Control& control : whole.study().controls) {
    std::vector<std::vector<unsigned>> points;
    findPinned(whole, control.pins, [&](expand::Levels point) {
      points.emplace_back(point.begin(), point.end());
      return points.size() < 2;
    });
    if (points.size() == 1) continue;
    auto builder = emitter.build(control.range, ControlPoint, control.name, points.empty() ? "no point" : "several");
    for (const auto& point : points) builder.note({}, "there is one at {}", expand::labelOf(whole.study(), point));
    if (!points.empty()) builder.note({}, "give a level to each factor that varies there");
    if (points.empty()) builder.note({}, "a rule removes it, or a factor does not vary there");
    builder.emit();
  }
}

void lintPublished(const expand::Space& whole, const Survey& survey, diag::Emitter& emitter) {
  const check::Study& study = whole.study();
  for (size_t i = 0; i < survey.criteria.size(); ++i) {
    const check::Criterion& criterion = *whole.selected().criteria[i];
    const Survey::OfCriterion& of = survey.criteria[i];
    if (of.unpublished == 0) continue;
    const check::Published& reference = study.references[*criterion.like];
    std::string example = expand::labelOf(study, of.example);
    if (of.shape.cells() == 0)
      emitter.build(criterion.range, NothingPublished, reference.name, criterion.name)
          .note(reference.range, "a row is looked up by the parameters that are its columns, as at {}", example)
          .emit();
    else
      emitter
          .build(criterion.range, PartlyPublished, of.unpublished, of.unpublished + of.shape.cells(), criterion.name,
                 reference.name)
          .note(reference.range, "such as the one at {}", example)
          .emit();
  }
}

void lintInfeasible(const expand::Space& space, const Survey& survey, const check::System& system, Reported& reported,
                    diag::Emitter& emitter) {
  for (size_t i = 0; i < survey.criteria.size(); ++i) {
    const Survey::OfCriterion& of = survey.criteria[i];
    const check::Criterion& criterion = *space.selected().criteria[i];
    if (criterion.infeasible || of.cells == 0 || of.infeasible < of.cells) continue;
    if (!reported.fresh(diag::Kind::ExpectedInfeasible, &criterion, {})) continue;
    emitter.build(criterion.range, ExpectedInfeasible, system.name, criterion.name)
        .note(of.estimate_range, "{}", of.estimate)
        .emit();
  }
}

}  // namespace expc::points
