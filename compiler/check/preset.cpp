// Presets, and overrides in their shape.

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(AssignsFactor, Error, "'{0}' is a factor of this study, so it takes levels");

/// The declared levels that `expr` picks.
std::optional<Only> pick(StudyScope& context, unsigned index, const ast::Expr& expr) {
  const Factor& factor = context.study.factors[index];
  if (factor.levels.empty()) return std::nullopt;  // reported there
  auto levels = context.levels(expr, factor, fmt::format("a level of '{}'", factor.name));
  if (!levels) return std::nullopt;
  Only only{index, {}, expr.range};
  bool good = true;
  for (const Level& wanted : levels->levels) {
    const auto found = context.levelOf(wanted.values, factor, wanted.range, wanted.label);
    good &= found.has_value();
    if (found) only.levels.push_back(*found);
  }
  std::sort(only.levels.begin(), only.levels.end());
  only.levels.erase(std::unique(only.levels.begin(), only.levels.end()), only.levels.end());
  return good ? std::optional<Only>(std::move(only)) : std::nullopt;
}

class PresetChecker {
 public:
  PresetChecker(StudyScope& context, const ast::PresetDecl& declaration, bool is_override)
      : context_(context), study_(context.study), declaration_(declaration), is_override_(is_override) {}

  std::optional<Change> run() {
    const size_t before = context_.context.problems();
    change_.name = declaration_.name.name;
    change_.range = declaration_.name.range;
    if (!declaration_.designs.empty()) change_.design = checkDesign(context_, declaration_.designs, true);
    for (const ast::Assignment& assignment : declaration_.assignments) assign(assignment);
    for (const ast::OnlyClause& clause : declaration_.only) only(clause);
    for (const ast::CriteriaClause& clause : declaration_.claims) choose(clause);
    for (const ast::CriterionDecl& criterion : declaration_.criteria) add(criterion);
    if (context_.context.problems() != before) return std::nullopt;
    return std::move(change_);
  }

 private:
  void assign(const ast::Assignment& assignment) {
    const ast::QualifiedName& target = assignment.target;
    const ast::Identifier& name = target.parts[0];
    if (name.name == "design" && target.parts.size() > 1) {
      if (!change_.design) change_.design.emplace();
      checkDesignSetting(context_, target, *assignment.value, is_override_, *change_.design);
      return;
    }
    int factor = target.parts.size() == 1 ? study_.findFactor(name.name) : -1;
    int index = target.parts.size() == 1 ? study_.workload->findParameter(name.name) : -1;
    if (index >= 0)
      context_.note(name, factor >= 0 ? study_.factors[factor].range : study_.workload->parameters[index].range);
    if (factor < 0 && index >= 0 && study_.factor_of[index] >= 0) {
      context_.factor(name);  // says that it is varied in lockstep
      return;
    }
    if (factor < 0 && index < 0)
      return void(diag::unknownName(context_.emitter, target.range, "parameter",
                                    context_.expressions().written(target.range), namesOf(study_.workload->parameters),
                                    " of " + study_.workload->name));
    if (!assigned_.add(context_.emitter, "argument", name)) return;
    if (factor >= 0) return levels(assignment, static_cast<unsigned>(factor));
    const Type& type = study_.workload->parameters[index].type;
    std::string what = fmt::format("'{}'", name.name);
    auto value = context_.expressions().constant(*assignment.value, context_.place(), type, what);
    const auto parameter = static_cast<unsigned>(index);
    if (value && context_.allowed(*value, parameter, assignment.value->range, what))
      change_.assigned.push_back({parameter, std::move(*value), assignment.range});
  }

  void levels(const ast::Assignment& assignment, unsigned factor) {
    if (is_override_) {
      if (auto picked = pick(context_, factor, *assignment.value)) change_.only.push_back(std::move(*picked));
      return;
    }
    const std::string& name = study_.factors[factor].name;
    const ast::Expr& value = *assignment.value;
    const bool set =
        std::holds_alternative<ast::SetExpr>(value.node) || std::holds_alternative<ast::RangeExpr>(value.node);
    const std::string_view written = context_.context.sources.text(value.range);
    context_.emitter.build(assignment.range, AssignsFactor, name)
        .note(study_.factors[factor].range, "the factor is declared here")
        .fix(assignment.range,
             set ? fmt::format("only {} in {}", name, written) : fmt::format("only {} in {{ {} }}", name, written))
        .emit();
  }

  void only(const ast::OnlyClause& clause) {
    const auto factor = context_.factor(clause.factor);
    if (!factor || !only_.add(context_.emitter, "'only' for", clause.factor)) return;
    if (auto picked = pick(context_, *factor, *clause.levels)) change_.only.push_back(std::move(*picked));
  }

  /// What may be kept or removed: criteria of the study, and those that any preset adds.
  void choose(const ast::CriteriaClause& clause) {
    if (all_.empty()) {
      for (const ast::CriterionDecl& criterion : context_.declaration->criteria) all_.push_back(criterion.name);
      for (const auto* presets : {&context_.declaration->presets, &context_.scope.ast->presets})
        for (const ast::PresetDecl& preset : *presets)
          for (const ast::CriterionDecl& criterion : preset.criteria) all_.push_back(criterion.name);
    }
    using Which = ast::CriteriaClause::Which;
    change_.removes_all |= clause.which == Which::All;
    if (clause.which == Which::Confident) (clause.keep ? change_.keeps_confident : change_.removes_confident) = true;
    for (const ast::Identifier& name : clause.criteria) choose(name, clause.keep);
  }

  void choose(const ast::Identifier& name, bool keep) {
    const ast::Identifier* found = named(all_, name.name);
    if (!found) return void(unknownName(context_.emitter, "criterion", name, namesOf(all_)));
    context_.note(name, found->range);
    if (!chosen_.add(context_.emitter, "choice of", name)) return;
    (keep ? change_.kept : change_.removed).push_back(name.name);
  }

  void add(const ast::CriterionDecl& declaration) {
    const std::string& name = declaration.name.name;
    for (const Criterion& known : study_.criteria)
      if (known.name == name && !change_.drops(known))
        diag::duplicateName(context_.emitter, declaration.name.range, "criterion", name, known.range);
    added_.add(context_.emitter, "criterion", declaration.name);
    if (auto criterion = checkCriterion(context_, declaration)) change_.criteria.push_back(std::move(*criterion));
  }

  StudyScope& context_;
  const Study& study_;
  const ast::PresetDecl& declaration_;
  bool is_override_;
  Change change_;
  std::vector<ast::Identifier> all_;  // criteria that can be kept or removed
  Once assigned_, only_, chosen_, added_;
};

}  // namespace

bool Change::drops(const Criterion& criterion) const {
  auto named = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), criterion.name) != names.end();
  };
  if (removes_all || named(removed) || (removes_confident && criterion.confidence)) return true;
  return (keeps_confident || !kept.empty()) && !named(kept) && !(keeps_confident && criterion.confidence);
}

std::optional<Change> checkPreset(StudyScope& context, const ast::PresetDecl& declaration, bool is_override) {
  return PresetChecker(context, declaration, is_override).run();
}

}  // namespace expc::check
