// Presets, and overrides in their shape.

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/parse/load.h"
#include "compiler/parse/parse.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(UnknownLevel, Error, "{0} is no level of the factor '{1}'", std::string, std::string_view);
EXPC_DIAGNOSTIC(AssignsFactor, Error, "'{0}' is a factor of this study, so it takes levels", std::string_view);
EXPC_DIAGNOSTIC(BadOverride, Error, "-D {0}: {1}", std::string_view, std::string_view);

/// The declared levels that `expr` picks.
std::optional<Only> pick(StudyContext& context, unsigned index, const ast::Expr& expr) {
  const Factor& factor = context.study.factors[index];
  const Type& type = context.study.workload->parameters[factor.parameter].type;
  Place place = context.place();
  auto levels = context.expressions().levels(expr, place, type, fmt::format("a level of '{}'", factor.name));
  if (!levels) return std::nullopt;
  Only only{index, {}, expr.range};
  bool good = true;
  for (const Level& wanted : levels->levels) {
    auto found = std::find_if(factor.levels.begin(), factor.levels.end(),
                              [&](const Level& level) { return level.value == wanted.value; });
    if (found == factor.levels.end()) {
      context.emitter()
          .build(wanted.range, UnknownLevel, wanted.label, factor.name)
          .note(factor.range, "its levels are {}", errors::list(factor.declared))
          .emit();
      good = false;
      continue;
    }
    only.levels.push_back(static_cast<unsigned>(found - factor.levels.begin()));
  }
  std::sort(only.levels.begin(), only.levels.end());
  only.levels.erase(std::unique(only.levels.begin(), only.levels.end()), only.levels.end());
  return good ? std::optional<Only>(std::move(only)) : std::nullopt;
}

class PresetChecker {
 public:
  PresetChecker(StudyContext& context, const ast::PresetDecl& declaration, bool is_override)
      : context_(context), study_(context.study), declaration_(declaration), is_override_(is_override) {}

  std::optional<Change> run() {
    size_t before = context_.emitter().errors();
    change_.name = declaration_.name.name;
    change_.range = declaration_.name.range;
    if (!declaration_.designs.empty()) change_.design = checkDesign(context_, declaration_.designs, true);
    for (const ast::Assignment& assignment : declaration_.assignments) assign(assignment);
    for (const ast::OnlyClause& clause : declaration_.only) only(clause);
    for (const ast::RemoveClause& clause : declaration_.removed)
      for (const ast::Identifier& name : clause.criteria) remove(name);
    for (const ast::CriterionDecl& criterion : declaration_.criteria) add(criterion);
    if (context_.emitter().errors() != before) return std::nullopt;
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
    int index = target.parts.size() == 1 ? study_.workload->findParameter(name.name) : -1;
    if (index < 0) {
      std::vector<std::string> names;
      for (const Parameter& parameter : study_.workload->parameters) names.push_back(parameter.name);
      errors::unknownName(context_.emitter(), target.range, "parameter",
                          squeeze(context_.context.sources.text(target.range)), names, " of " + study_.workload->name);
      return;
    }
    if (auto [at, fresh] = assigned_.emplace(name.name, name.range); !fresh)
      return errors::duplicateName(context_.emitter(), name.range, "argument", name.name, at->second);
    if (int factor = study_.findFactor(name.name); factor >= 0)
      return levels(assignment, static_cast<unsigned>(factor));
    const Parameter& parameter = study_.workload->parameters[index];
    std::string what = fmt::format("'{}'", parameter.name);
    Place place = context_.place();
    auto value = context_.expressions().constant(*assignment.value, place, parameter.type, what);
    if (value &&
        context_.expressions().allows(*value, assignment.value->range, parameter.type, parameter.refinement, what))
      change_.assigned.push_back({static_cast<unsigned>(index), std::move(*value), assignment.range});
  }

  void levels(const ast::Assignment& assignment, unsigned factor) {
    if (is_override_) {
      if (auto picked = pick(context_, factor, *assignment.value)) change_.only.push_back(std::move(*picked));
      return;
    }
    const std::string& name = study_.factors[factor].name;
    std::string value = squeeze(context_.context.sources.text(assignment.value->range));
    if (value.empty() || value.front() != '{') value = fmt::format("{{ {} }}", value);
    context_.emitter()
        .build(assignment.range, AssignsFactor, name)
        .note(study_.factors[factor].range, "the factor is declared here")
        .note({}, "write 'only {} in {}'", name, value)
        .fix(assignment.range, fmt::format("only {} in {}", name, value))
        .emit();
  }

  void only(const ast::OnlyClause& clause) {
    int factor = context_.factor(clause.factor);
    if (factor < 0) return;
    if (auto [at, fresh] = only_.emplace(clause.factor.name, clause.factor.range); !fresh)
      return errors::duplicateName(context_.emitter(), clause.factor.range, "'only' for", clause.factor.name,
                                   at->second);
    if (auto picked = pick(context_, static_cast<unsigned>(factor), *clause.levels))
      change_.only.push_back(std::move(*picked));
  }

  /// What may be removed: criteria of the study, and those that any preset adds.
  void remove(const ast::Identifier& name) {
    std::vector<std::string> names;
    for (const ast::CriterionDecl& criterion : context_.declaration->criteria) names.push_back(criterion.name.name);
    for (const ast::PresetDecl& preset : context_.declaration->presets)
      for (const ast::CriterionDecl& criterion : preset.criteria) names.push_back(criterion.name.name);
    if (std::find(names.begin(), names.end(), name.name) == names.end())
      return errors::unknownName(context_.emitter(), name.range, "criterion", name.name, names);
    if (auto [at, fresh] = removed_.emplace(name.name, name.range); !fresh)
      return errors::duplicateName(context_.emitter(), name.range, "removal of", name.name, at->second);
    change_.removed.push_back(name.name);
  }

  void add(const ast::CriterionDecl& declaration) {
    const std::string& name = declaration.name.name;
    auto of_study = context_.criterion_ranges.find(name);
    bool clash = of_study != context_.criterion_ranges.end() && !removed_.contains(name);
    if (clash) errors::duplicateName(context_.emitter(), declaration.name.range, "criterion", name, of_study->second);
    if (auto [at, fresh] = added_.emplace(name, declaration.name.range); !fresh)
      errors::duplicateName(context_.emitter(), declaration.name.range, "criterion", name, at->second);
    if (auto criterion = checkCriterion(context_, declaration)) change_.criteria.push_back(std::move(*criterion));
  }

  StudyContext& context_;
  const Study& study_;
  const ast::PresetDecl& declaration_;
  bool is_override_;
  Change change_;
  NameMap<source::Range> assigned_, only_, removed_, added_;
};

bool isIdentifier(std::string_view word) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (word.empty() || !letter(word[0])) return false;
  return std::all_of(word.begin(), word.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// `design.timed.repeat` as a name in `file`; nothing if it is none.
std::optional<ast::QualifiedName> pathOf(std::string_view text, source::FileId file) {
  ast::QualifiedName name;
  size_t begin = text.find_first_not_of(' ');
  size_t end = text.find_last_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  name.range = {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end + 1)};
  while (true) {
    size_t dot = std::min(text.find('.', begin), end + 1);
    std::string_view word = text.substr(begin, dot - begin);
    if (!isIdentifier(word)) return std::nullopt;
    name.parts.push_back({std::string(word), {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(dot)}});
    if (dot > end) return name;
    begin = dot + 1;
  }
}

/// An override's text as a preset with one assignment; nothing after a report.
std::optional<ast::PresetDecl> parseOverride(source::SourceManager& sources, const std::string& text,
                                             diag::Emitter& emitter) {
  // Name and value stand in buffers of their own, so that each can be pointed at.
  auto whole = parse::load(sources, "-D", text, emitter);
  if (!whole) return std::nullopt;
  size_t equals = text.find('=');
  auto path = equals == std::string::npos ? std::nullopt : pathOf(std::string_view(text).substr(0, equals), *whole);
  if (!path) {
    emitter.emit({}, BadOverride, text, "write NAME=VALUE, as in 'gpus=2' or 'design.timed.repeat=20'");
    return std::nullopt;
  }
  auto value_file = parse::load(sources, "-D " + text.substr(0, equals), text.substr(equals + 1), emitter);
  if (!value_file) return std::nullopt;
  ast::ExprPtr value = parse::parseExpression(sources, *value_file, emitter);
  if (!value) return std::nullopt;
  ast::PresetDecl preset;
  preset.name = {text, path->range};
  preset.range = path->range;
  source::Range range = value->range;
  preset.assignments.push_back({range, std::move(*path), std::move(value)});
  return preset;
}

}  // namespace

std::optional<Change> checkPreset(StudyContext& context, const ast::PresetDecl& declaration, bool is_override) {
  return PresetChecker(context, declaration, is_override).run();
}

std::optional<Change> resolveOverride(const Program& program, const Study& study, const std::string& text,
                                      diag::Emitter& emitter) {
  auto preset = parseOverride(*program.sources, text, emitter);
  if (!preset) return std::nullopt;
  Program& mutable_program = const_cast<Program&>(program);  // a study's lets are resolved anew, nothing else changes
  for (size_t i = 0; i < program.studies.size(); ++i) {
    if (program.studies[i].get() != &study) continue;
    Context context{*program.sources, emitter, mutable_program};
    StudyContext inside{context, rootScope(mutable_program), study.declaration, *program.studies[i], {}, {}};
    for (const ast::LetDecl& let : study.declaration->lets)
      inside.lets.emplace(let.name.name, LetEntry{&let, LetEntry::State::New, nullptr});
    return checkPreset(inside, *preset, true);
  }
  return std::nullopt;
}

Selected Selected::whole(const Study& study) {
  Selected selected;
  selected.study = &study;
  selected.arguments = study.arguments;
  for (const Factor& factor : study.factors) {
    std::vector<unsigned> all(factor.levels.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned>(i);
    selected.levels.push_back(std::move(all));
  }
  for (const Criterion& criterion : study.criteria) selected.criteria.push_back(&criterion);
  selected.design = *study.design;
  return selected;
}

bool Selected::apply(const Change& change, diag::Emitter& emitter) {
  bool good = true;
  for (const Assigned& assigned : change.assigned) arguments[assigned.parameter] = assigned.value;
  for (const Only& only : change.only) levels[only.factor] = only.levels;
  restricted |= !change.only.empty() || !change.assigned.empty() || !change.removed.empty();
  std::erase_if(criteria, [&](const Criterion* criterion) {
    return std::find(change.removed.begin(), change.removed.end(), criterion->name) != change.removed.end();
  });
  for (const Criterion& added : change.criteria) {
    for (const Criterion* known : criteria)
      if (known->name == added.name) {
        errors::duplicateName(emitter, added.range, "criterion", added.name, known->range);
        good = false;
      }
    criteria.push_back(&added);
  }
  if (!change.design) return good;
  for (const auto& [kind, block] : change.design->kinds) {
    Design::Kind& mine = design.kinds[kind];
    if (!mine.range.isValid()) mine.range = block.range;
    for (const auto& [name, setting] : block.settings) mine.settings.insert_or_assign(name, setting);
  }
  for (const auto& [name, setting] : change.design->settings) design.settings.insert_or_assign(name, setting);
  return good;
}

}  // namespace expc::check
