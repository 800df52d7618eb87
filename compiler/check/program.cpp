#include "compiler/check/program.h"

#include "compiler/check/named.h"

namespace expc::check {

const Study* Program::findStudy(std::string_view name) const { return named(studies, name); }

ModuleScope& rootScope(const Program& program) { return *program.scopes.back(); }

const System* Program::findSystem(std::string_view name) const { return named(systems, name); }

bool declaresAnything(const Program& program) {
  const ast::Module& module = *program.scopes.back()->ast;
  return !module.enums.empty() || !module.lets.empty() || !module.metrics.empty() || !module.workloads.empty() ||
         !module.services.empty() || !module.systems.empty() || !module.references.empty() || !module.presets.empty() ||
         !module.parts.empty();
}

}  // namespace expc::check
