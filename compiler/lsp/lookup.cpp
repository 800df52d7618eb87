// Looking names up in the syntax trees.

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Path.h>

#include "compiler/lsp/symbols.h"

namespace expc::lsp {

const ast::EnumDecl* Expected::enumeration(const Scope** where) const {
  if (!type || !scope || type->shape != ast::TypeExpr::Shape::Named || !type->per.empty() || type->name.parts.empty())
    return nullptr;
  const Scope* found = scopeOf(*scope, type->name);
  if (where) *where = found;
  return found && found->ast ? findNamed(found->ast->enums, type->name.parts.back().name) : nullptr;
}

const Scope* scopeOf(const Scope& scope, const ast::QualifiedName& name) {
  if (name.parts.size() < 2) return &scope;
  const auto module = scope.imports.find(name.parts[0].name);
  return module == scope.imports.end() || name.parts.size() > 2 ? nullptr : module->second;
}

std::string boundName(const ast::Import& import) {
  if (import.alias) return import.alias->name;
  if (const auto* text = std::get_if<ast::StringLiteral>(&import.target))
    return llvm::sys::path::stem(llvm::StringRef(text->value)).str();
  const auto& parts = std::get<ast::QualifiedName>(import.target).parts;
  return parts.empty() ? "" : parts.back().name;
}

FoundWorkload findWorkload(const Scope& scope, const ast::QualifiedName& name) {
  const Scope* where = name.parts.empty() ? nullptr : scopeOf(scope, name);
  const ast::WorkloadDecl* found =
      where && where->ast ? findNamed(where->ast->workloads, name.parts.back().name) : nullptr;
  return {found, found ? where : nullptr};
}

std::vector<const ast::MetricDecl*> metricsOf(const FoundWorkload& workload) {
  std::vector<const ast::MetricDecl*> all;
  for (const ast::MetricDecl& metric : workload.declaration->metrics) {
    const auto module = metric.all ? workload.scope->imports.find(metric.name.name) : workload.scope->imports.end();
    if (!metric.all) all.push_back(&metric);
    if (module == workload.scope->imports.end() || !module->second) continue;
    for (const ast::MetricDecl& taken : module->second->ast->metrics) all.push_back(&taken);
  }
  return all;
}

std::vector<FoundWorkload> workloadsOf(const Scope& scope, const ast::StudyDecl& study) {
  std::vector<FoundWorkload> result;
  for (const ast::WorkloadUse& use : study.workloads)
    if (const FoundWorkload found = findWorkload(scope, use.name); found.declaration) result.push_back(found);
  return result;
}

FoundParameter findParameter(const std::vector<FoundWorkload>& workloads, std::string_view name) {
  for (const FoundWorkload& workload : workloads)
    if (const ast::ParamDecl* found = findNamed(workload.declaration->params, name)) return {found, workload.scope};
  return {};
}

std::vector<std::string> lockstepParts(std::string_view name) {
  llvm::StringRef rest(name);
  if (!rest.consume_front("(") || !rest.consume_back(")")) return {};
  llvm::SmallVector<llvm::StringRef, 4> parts;
  rest.split(parts, ',');
  std::vector<std::string> result;
  for (const llvm::StringRef part : parts) result.push_back(part.trim().str());
  return result;
}

Expected expectedOf(const Scope& scope, const ast::StudyDecl& study, const std::vector<FoundWorkload>& workloads,
                    std::string_view name) {
  Expected expected;
  if (name == "workload" && study.workloads.size() > 1) {
    expected.labels = &study;
    return expected;
  }
  for (const std::string& part : lockstepParts(name))
    expected.parts.push_back(expectedOf(scope, study, workloads, part));
  if (const FoundParameter found = findParameter(workloads, name); found.declaration) {
    expected.type = &found.declaration->type;
    expected.scope = found.scope;
  }
  return expected;
}

}  // namespace expc::lsp
