// The order of checking. Scopes come first, since names may be used before their declaration; modules in the
// order of loading, so that imported ones are complete; then machines, and last the studies of the root file.

#include "compiler/check/check.h"

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "runtime/base/entry.h"

namespace expc::check {

/// Opens a scope for each module and binds its imports. Modules come after those that they import, so these
/// exist.
static void openScopes(Program& program) {
  std::map<const load::Module*, ModuleScope*> scopes = {{nullptr, nullptr}};
  for (const auto& module : program.modules.all) {
    auto scope = std::make_unique<ModuleScope>();
    scope->file = module.get();
    scope->ast = &module->ast;
    for (const auto& [name, imported] : module->imports) scope->imports.emplace(name, scopes.at(imported));
    scopes[module.get()] = scope.get();
    program.scopes.push_back(std::move(scope));
  }
}

/// Notes that the words of an import mean the beginning of the imported file.
static void noteImports(Context& context, const ModuleScope& scope) {
  for (const ast::Import& import : scope.ast->imports) {
    const auto* bound = entryOf(scope.imports, load::boundName(import));
    if (!bound || !*bound) continue;
    const source::Range file{(*bound)->ast->file, 0, 0};
    context.note(import.target_range, file);
    if (import.alias) context.note(import.alias->range, file);
  }
}

Program check(source::SourceManager& sources, load::Modules modules, diag::Emitter& emitter, Lookup lookup,
              std::vector<std::string> overrides) {
  Program program;
  program.sources = &sources;
  program.modules = std::move(modules);
  program.lookup = std::move(lookup);
  program.overrides = std::move(overrides);
  openScopes(program);
  for (const auto& module : program.modules.all) program.names.declare(*module);
  // After a syntax error the parser dropped declarations, so unknown names would mostly be consequences: check
  // silently, for the names alone.
  diag::Collector unread;
  diag::Emitter silent(unread);
  Checking context{{sources, program.modules.parsed ? emitter : silent, &program.names}, program};
  for (auto& scope : program.scopes) noteImports(context, *scope);
  for (auto& scope : program.scopes) declareModule(context, *scope);
  for (auto& scope : program.scopes) {
    Once parts;
    for (const ast::PartDecl& part : scope->ast->parts) parts.add(context.emitter, "part", part.name);
  }
  // The root's systems come first in Program::systems, so that they are found before imported ones.
  for (auto scope = program.scopes.rbegin(); scope != program.scopes.rend(); ++scope) declareSystems(context, **scope);
  ModuleScope& scope = rootScope(program);
  for (const ast::StudyDecl& declaration : scope.ast->studies) {
    if (const Study* first = program.findStudy(declaration.name.name))
      duplicateName(context.emitter, "study", declaration.name, first->range);
    auto study = checkStudy(context, scope, declaration);
    study->valid &= program.modules.parsed;
    program.studies.push_back(std::move(study));
  }
  checkReferencesUsed(context, *scope.ast);
  program.names.sort();
  return program;
}

}  // namespace expc::check
