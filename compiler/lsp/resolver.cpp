#include "compiler/lsp/resolver.h"

#include <algorithm>
#include <tuple>

namespace expc::lsp {

std::string_view toString(SymbolKind kind) {
  static constexpr std::string_view kNames[] = {"module",  "enum",      "level",  "let",      "workload", "parameter",
                                                "metric",  "rule",      "study",  "workload", "factor",   "comparison",
                                                "control", "criterion", "preset", "system",   "reference"};
  return kNames[static_cast<size_t>(kind)];
}

const Use* Index::at(source::FileId file, uint32_t offset) const {
  // The innermost: a part of `(loader, layout)` rather than the whole. One that holds the byte comes before one that
  // ends there.
  const Use* best = nullptr;
  const auto rank = [&](const Use& use) {
    return std::tuple(offset == use.range.end, use.range.end - use.range.begin);
  };
  for (const Use& use : uses) {
    if (use.range.file != file || offset < use.range.begin || offset > use.range.end) continue;
    if (!best || rank(use) < rank(*best)) best = &use;
  }
  return best;
}

Index buildIndex(const check::Program& program, const source::SourceManager& sources) {
  return Resolver(program, sources).build();
}

Index Resolver::build() {
  for (const auto& scope : program_.scopes)
    if (scope->ast) declareFile(*scope);
  for (const auto& scope : program_.scopes)
    if (scope->ast) resolveFile(*scope);
  std::stable_sort(index_.uses.begin(), index_.uses.end(), [](const Use& left, const Use& right) {
    return std::tuple(left.range.file.index, left.range.begin) < std::tuple(right.range.file.index, right.range.begin);
  });
  return std::move(index_);
}

unsigned Resolver::declare(const void* node, Symbol symbol) {
  const unsigned id = static_cast<unsigned>(index_.symbols.size());
  if (node) known_.emplace(node, id);
  if (symbol.name_range.isValid()) index_.uses.push_back({symbol.name_range, id, true});
  index_.symbols.push_back(std::move(symbol));
  return id;
}

bool Resolver::use(source::Range range, const void* node) {
  const auto found = node ? known_.find(node) : known_.end();
  if (found == known_.end()) return false;
  index_.uses.push_back({range, found->second, false});
  return true;
}

// ---- declaring ------------------------------------------------------------------------------------------------------

void Resolver::declareFile(const Scope& scope) {
  const ast::Module& file = *scope.ast;
  const auto add = [&](SymbolKind kind, const auto& declaration) {
    return declare(&declaration, {kind, declaration.name.name, declaration.name.range, &declaration, &scope});
  };
  declare(&scope, {SymbolKind::Module, scope.file->path, {file.file, 0, 0}, &scope, &scope});
  index_.uses.pop_back();  // a file has no name of its own in its text
  for (const ast::EnumDecl& declaration : file.enums) {
    const unsigned owner = add(SymbolKind::Enum, declaration);
    for (const ast::EnumLevel& level : declaration.levels) index_.symbols[add(SymbolKind::Level, level)].owner = owner;
  }
  for (const ast::LetDecl& declaration : file.lets) add(SymbolKind::Let, declaration);
  for (const ast::MetricDecl& declaration : file.metrics) add(SymbolKind::Metric, declaration);
  for (const ast::WorkloadDecl& declaration : file.workloads) declareWorkload(scope, declaration);
  for (const ast::SystemDecl& declaration : file.systems) add(SymbolKind::System, declaration);
  for (const ast::ReferenceDecl& declaration : file.references) add(SymbolKind::Reference, declaration);
  for (const ast::PresetDecl& declaration : file.presets) {
    add(SymbolKind::Preset, declaration);
    for (const ast::CriterionDecl& criterion : declaration.criteria) add(SymbolKind::Criterion, criterion);
  }
  for (const ast::StudyDecl& declaration : file.studies) declareStudy(scope, declaration);
}

void Resolver::declareWorkload(const Scope& scope, const ast::WorkloadDecl& workload) {
  const auto add = [&](SymbolKind kind, const auto& declaration, const ast::Identifier& name) {
    return declare(&declaration, {kind, name.name, name.range, &declaration, &scope});
  };
  const unsigned owner = add(SymbolKind::Workload, workload, workload.name);
  for (const ast::ParamDecl& param : workload.params)
    index_.symbols[add(SymbolKind::Parameter, param, param.name)].owner = owner;
  for (const ast::LetDecl& let : workload.lets) index_.symbols[add(SymbolKind::Let, let, let.name)].owner = owner;
  for (const ast::MetricDecl& metric : workload.metrics)
    if (!metric.all) index_.symbols[add(SymbolKind::Metric, metric, metric.name)].owner = owner;
  for (const ast::RuleDecl& rule : workload.rules)
    if (rule.name) add(SymbolKind::Rule, rule, *rule.name);
}

void Resolver::declareStudy(const Scope& scope, const ast::StudyDecl& study) {
  const auto add = [&](SymbolKind kind, const auto& declaration, const ast::Identifier& name) {
    return declare(&declaration, {kind, name.name, name.range, &declaration, &scope, &study});
  };
  declare(&study, {SymbolKind::Study, study.name.name, study.name.range, &study, &scope});
  for (const ast::WorkloadUse& use : study.workloads)
    if (use.label) add(SymbolKind::Label, use, *use.label);
  const std::vector<FoundWorkload> workloads = workloadsOf(scope, study);
  for (const ast::FactorDecl& factor : study.factors) {
    const unsigned id = add(SymbolKind::Factor, factor, factor.name);
    // The parameter may be declared in this file further down; ids of its file are looked up when all are known.
    if (const FoundParameter found = findParameter(workloads, factor.name.name); found.declaration)
      if (const auto known = known_.find(found.declaration); known != known_.end())
        index_.symbols[id].of = known->second;
  }
  for (const ast::LetDecl& let : study.lets) add(SymbolKind::Let, let, let.name);
  for (const ast::RuleDecl& rule : study.rules)
    if (rule.name) add(SymbolKind::Rule, rule, *rule.name);
  for (const ast::MetricDecl& metric : study.metrics) add(SymbolKind::Metric, metric, metric.name);
  for (const ast::CompareDecl& compare : study.compares) add(SymbolKind::Comparison, compare, compare.name);
  for (const ast::ControlDecl& control : study.controls) add(SymbolKind::Control, control, control.name);
  for (const ast::CriterionDecl& criterion : study.criteria) add(SymbolKind::Criterion, criterion, criterion.name);
  for (const ast::PresetDecl& preset : study.presets) {
    add(SymbolKind::Preset, preset, preset.name);
    for (const ast::CriterionDecl& criterion : preset.criteria) add(SymbolKind::Criterion, criterion, criterion.name);
  }
}

// ---- names in declarations ------------------------------------------------------------------------------------------

void Resolver::resolveFile(const Scope& scope) {
  const ast::Module& file = *scope.ast;
  const Place place{&scope, nullptr, nullptr, {}, false};
  for (const ast::Import& declaration : file.imports) import(scope, declaration);
  for (const ast::EnumDecl& declaration : file.enums)
    for (const ast::EnumLevel& level : declaration.levels)
      for (const ast::EnumField& field : level.fields)
        if (field.type) type(scope, *field.type);
  for (const ast::LetDecl& let : file.lets) expression(let.value.get(), place);
  for (const ast::WorkloadDecl& declaration : file.workloads) workload(scope, declaration);
  for (const ast::SystemDecl& system : file.systems)
    for (const ast::Assignment& property : system.properties) expression(property.value.get(), place);
  for (const ast::StudyDecl& declaration : file.studies) study(scope, declaration);
  for (const ast::PresetDecl& declaration : file.presets)
    for (const ast::StudyDecl& target : file.studies)
      preset(declaration, {&scope, &target, nullptr, workloadsOf(scope, target), false});
  // A reference's names are those of the studies that use it.
  for (const ast::ReferenceDecl& reference : file.references)
    for (const ast::LetDecl& column : reference.columns)
      for (const ast::StudyDecl& target : file.studies) {
        const Place inside{&scope, &target, nullptr, workloadsOf(scope, target), true};
        if (metricName(column.name, inside) || parameterName(column.name, inside)) break;
      }
}

void Resolver::import(const Scope& scope, const ast::Import& import) {
  const auto found = scope.imports.find(boundName(import));
  if (found == scope.imports.end() || !found->second) return;
  use(import.target_range, found->second);
  if (import.alias) use(import.alias->range, found->second);
}

bool Resolver::qualifier(const Scope& scope, const ast::QualifiedName& name) {
  if (name.parts.size() != 2) return false;
  const auto module = scope.imports.find(name.parts[0].name);
  if (module == scope.imports.end() || !module->second) return false;
  return use(name.parts[0].range, module->second);
}

void Resolver::type(const Scope& scope, const ast::TypeExpr& type) {
  for (const ast::TypeExpr& part : type.parts) this->type(scope, part);
  Expected expected;
  expected.type = &type;
  expected.scope = &scope;
  if (const ast::EnumDecl* enumeration = expected.enumeration()) {
    qualifier(scope, type.name);
    use(type.name.parts.back().range, enumeration);
  }
  expression(type.refinement.get(), {&scope, nullptr, nullptr, {}, false}, expected);
}

void Resolver::workload(const Scope& scope, const ast::WorkloadDecl& workload) {
  const Place place{&scope, nullptr, &workload, {{&workload, &scope}}, false};
  Place measured = place;
  measured.measured = true;
  if (workload.command) expression(workload.command->timeout.get(), place);
  if (workload.prepare) expression(workload.prepare->timeout.get(), place);
  for (const ast::ExprPtr& expectation : workload.expectations) expression(expectation.get(), place);
  for (const ast::ParamDecl& param : workload.params) {
    type(scope, param.type);
    Expected expected;
    expected.type = &param.type;
    expected.scope = &scope;
    expression(param.default_value.get(), place, expected);
    expression(param.when.get(), place);
  }
  for (const ast::MetricDecl& metric : workload.metrics) {
    if (metric.type) type(scope, *metric.type);
    expression(metric.derived.get(), measured);
    expression(metric.source.get(), place);
  }
  for (const ast::LetDecl& let : workload.lets) expression(let.value.get(), place);
  for (const ast::EstimateDecl& estimate : workload.estimates) {
    metricName(estimate.metric, place);
    expression(estimate.value.get(), place);
    expression(estimate.when.get(), place);
  }
  for (const ast::RuleDecl& rule : workload.rules) this->rule(rule, place);
}

void Resolver::rule(const ast::RuleDecl& rule, const Place& place) { expression(rule.condition.get(), place); }

}  // namespace expc::lsp
