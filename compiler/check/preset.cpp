// Presets, and overrides (`-D`) in their form: both become a Change. They differ in two places: an override of
// a factor selects levels, and it may set only kinds of trial that are designed.

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(AssignsFactor, "'{0}' is a factor of this study, so it takes levels");

/// The declared levels of a factor, or of the part of one that `name` is, that `expr` selects; nothing after a report.
std::optional<Only> pick(StudyScope& context, const ast::Identifier& name, unsigned index, const ast::Expr& expr) {
  auto levels = context.levelsByPart(name, expr, index, fmt::format("a level of '{}'", name.name));
  return levels ? std::optional(Only{index, std::move(*levels), expr.range}) : std::nullopt;
}

/// Checks one preset or override.
struct PresetChecker {
  StudyScope& context;
  const ast::PresetDecl& declaration;
  bool is_override;
  const Study& study = context.study;
  Change change = {};
  /// Criteria that can be kept or removed: those of the study and of any preset.
  std::vector<ast::Identifier> all = {};
  /// Names used so far, to report repetitions.
  Once assigned = {}, restricted = {}, chosen = {}, added = {};

  std::optional<Change> run() {
    const size_t before = context.context.problems();
    change.name = declaration.name.name;
    change.range = declaration.name.range;
    // The design first: `design.…` assignments below add to it.
    if (!declaration.designs.empty()) change.design = checkDesign(context, declaration.designs, true);
    for (const ast::Assignment& assignment : declaration.assignments) assign(assignment);
    for (const ast::OnlyClause& clause : declaration.only) only(clause);
    for (const ast::CriteriaClause& clause : declaration.claims) choose(clause);
    for (const ast::CriterionDecl& criterion : declaration.criteria) add(criterion);
    if (context.context.problems() != before) return std::nullopt;
    return std::move(change);
  }

  /// Checks `NAME = value`: a setting of the design, a factor's levels, or an argument.
  void assign(const ast::Assignment& assignment) {
    const ast::QualifiedName& target = assignment.target;
    const ast::Identifier& name = target.parts[0];
    if (name.name == "design" && target.parts.size() > 1) {
      if (!change.design) change.design.emplace();
      checkDesignSetting(context, target, *assignment.value, is_override, *change.design);
      return;
    }
    int factor = target.parts.size() == 1 ? study.findFactor(name.name) : -1;
    int index = target.parts.size() == 1 ? study.findParameter(name.name) : -1;
    if (index >= 0) context.note(name, factor >= 0 ? study.factors[factor].range : study.parameter(index).range);
    if (factor < 0 && index >= 0 && study.factor_of[index] >= 0) {
      // A part of a lockstep factor.
      const auto whole = context.factor(name);
      if (!whole) return;
      factor = int(*whole);
    }
    if (const Constant* constant = factor < 0 && index < 0 ? named(study.constants, name.name) : nullptr)
      return void(context.emitter.emit(target.range, NotSupported, "a study's constant in a preset")
                      .note(constant->range, "-D {}=… replaces it for one call", name.name));
    if (factor < 0 && index < 0) {
      const bool constants = is_override && !study.constants.empty();
      const std::string of = constants ? fmt::format("the study '{}'", study.name) : study.workload->name;
      return void(diag::unknownName(
          context.emitter, target.range, "parameter", context.written(target.range),
          namesOf(constants ? study.constants : std::vector<Constant>(), study.workload->parameters), " of " + of));
    }
    if (!assigned.add(context.emitter, "argument", name)) return;
    if (factor >= 0) return levels(assignment, name, unsigned(factor));
    // Every workload that has the parameter must accept the value, since the change reaches all of them.
    const Type& type = study.parameter(index).type;
    std::string what = fmt::format("'{}'", name.name);
    auto value = context.constant(*assignment.value, type, what);
    const auto parameter = unsigned(index);
    if (value && context.allowed(*value, parameter, assignment.value->range, what))
      change.assigned.push_back({parameter, std::move(*value), assignment.range});
  }

  /// A factor's levels by assignment: allowed in overrides. In a preset the fix is to write `only`.
  void levels(const ast::Assignment& assignment, const ast::Identifier& word, unsigned factor) {
    if (is_override) {
      if (auto picked = pick(context, word, factor, *assignment.value)) change.only.push_back(std::move(*picked));
      return;
    }
    const std::string& name = word.name;
    const ast::Expr& value = *assignment.value;
    const bool set = value.as<ast::SetExpr>() || value.as<ast::RangeExpr>();
    const std::string_view written = context.context.sources.text(value.range);
    context.emitter.emit(assignment.range, AssignsFactor, name)
        .note(study.factors[factor].range, "the factor is declared here")
        .fix(assignment.range,
             set ? fmt::format("only {} in {}", name, written) : fmt::format("only {} in {{ {} }}", name, written));
  }

  /// Checks `only FACTOR in { … }`.
  void only(const ast::OnlyClause& clause) {
    const auto factor = context.factor(clause.factor);
    if (!factor || !restricted.add(context.emitter, "'only' for", clause.factor)) return;
    if (auto picked = pick(context, clause.factor, *factor, *clause.levels)) change.only.push_back(std::move(*picked));
  }

  /// Checks `keep criterion` and `remove criterion`.
  void choose(const ast::CriteriaClause& clause) {
    if (all.empty()) {
      for (const ast::CriterionDecl& criterion : context.declaration->criteria) all.push_back(criterion.name);
      for (const auto* presets : {&context.declaration->presets, &context.scope.ast->presets})
        for (const ast::PresetDecl& preset : *presets)
          for (const ast::CriterionDecl& criterion : preset.criteria) all.push_back(criterion.name);
    }
    using Which = ast::CriteriaClause::Which;
    // The parser refuses `keep criterion *`, so All always removes.
    change.removes_all |= clause.which == Which::All;
    if (clause.which == Which::Confident) (clause.keep ? change.keeps_confident : change.removes_confident) = true;
    for (const ast::Identifier& name : clause.criteria) choose(name, clause.keep);
  }

  /// Keeps or removes one criterion by name.
  void choose(const ast::Identifier& name, bool keep) {
    const ast::Identifier* found = named(all, name.name);
    if (!found) return void(unknownName(context.emitter, "criterion", name, namesOf(all)));
    context.note(name, found->range);
    if (!chosen.add(context.emitter, "choice of", name)) return;
    (keep ? change.kept : change.removed).push_back(name.name);
  }

  /// Adds a criterion of the preset. It may replace one of the study that the preset drops.
  void add(const ast::CriterionDecl& declaration) {
    const std::string& name = declaration.name.name;
    for (const Criterion& known : study.criteria)
      // The criteria were chosen before, so `drops` is final here.
      if (known.name == name && !change.drops(known))
        diag::duplicateName(context.emitter, declaration.name.range, "criterion", name, known.range);
    added.add(context.emitter, "criterion", declaration.name);
    if (auto criterion = checkCriterion(context, declaration)) change.criteria.push_back(std::move(*criterion));
  }
};

}  // namespace

bool Change::drops(const Criterion& criterion) const {
  // Removing wins over keeping. Keeping any criterion drops all others.
  if (removes_all || named(removed, criterion.name) || (removes_confident && criterion.confidence)) return true;
  return (keeps_confident || !kept.empty()) && !named(kept, criterion.name) &&
         !(keeps_confident && criterion.confidence);
}

std::optional<Change> checkPreset(StudyScope& context, const ast::PresetDecl& declaration, bool is_override) {
  return PresetChecker{context, declaration, is_override}.run();
}

}  // namespace expc::check
