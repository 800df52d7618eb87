#include "compiler/check/check.h"

#include "compiler/check/checker.h"

namespace expc::check {

Program::Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

const Study* Program::findStudy(std::string_view name) const {
  for (const auto& study : studies)
    if (study->name == name) return study.get();
  return nullptr;
}

// Importers come after what they import, so the root is last.
ModuleScope& rootScope(Program& program) { return *program.scopes.back(); }

const System* Program::findSystem(std::string_view name) const {
  for (const auto& system : systems)
    if (system->name == name) return system.get();
  return nullptr;
}

bool declaresAnything(const Program& program) {
  const ast::Module& module = *program.scopes.back()->ast;
  return !module.enums.empty() || !module.lets.empty() || !module.workloads.empty() || !module.systems.empty() ||
         !module.presets.empty();
}

Program check(source::SourceManager& sources, source::FileId root, const FileSystem& files, diag::Emitter& emitter) {
  Program program;
  program.sources = &sources;
  program.root = root;
  program.lookup = files.lookup;
  Context context{sources, emitter, program};
  context.files = &files;
  context.directory = directoryOf(sources.name(root));
  // Behind a syntax error stand declarations that the parser dropped; what they would break is noise.
  if (!loadModules(context, root, files)) return program;
  for (auto& scope : program.scopes) declareModule(context, *scope);
  for (auto scope = program.scopes.rbegin(); scope != program.scopes.rend(); ++scope) declareSystems(context, **scope);
  ModuleScope& scope = rootScope(program);
  for (const ast::StudyDecl& declaration : scope.ast->studies) {
    if (const Study* first = program.findStudy(declaration.name.name))
      errors::duplicateName(emitter, declaration.name.range, "study", declaration.name.name, first->range);
    auto study = checkStudy(context, scope, declaration);
    program.studies.push_back(std::move(study));
  }
  checkReferencesUsed(context, *scope.ast);
  return program;
}

}  // namespace expc::check
