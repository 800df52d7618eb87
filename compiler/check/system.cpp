// The machines that a file declares.

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

bool describesGpu(const System& system) {
  const auto& all = systemProperties();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name.starts_with("gpu.") && system.values[i]) return true;
  return false;
}

void checkSystem(Context& context, ModuleScope& scope, const ast::SystemDecl& declaration, System& system) {
  Once seen;
  for (const ast::Assignment& assignment : declaration.properties) {
    std::string name = joined(assignment.target);
    int index = findSystemProperty(name);
    if (index < 0) {
      diag::unknownName(context.emitter, assignment.target.range, "property of a system", name,
                        language::texts(language::Role::Property));
      continue;
    }
    if (!seen.add(context.emitter, "property", name, assignment.target.range)) continue;
    const SystemProperty& property = systemProperties()[static_cast<size_t>(index)];
    const std::string what = fmt::format("'{}'", property.name);
    auto value = context.expressions.constant(*assignment.value, {&scope}, property.type, what);
    if (value && context.expressions.positive(*value, assignment.value->range, what))
      system.values[static_cast<size_t>(index)] = std::move(value);
  }
  if (!system["gpu.present"] && describesGpu(system)) system.set("gpu.present", Value::boolean(true));
}

}  // namespace

void declareSystems(Checking& context, ModuleScope& scope) {
  for (const ast::SystemDecl& declaration : scope.ast->systems) {
    auto system = std::make_unique<System>(System::unknown(scope.file->prefix + declaration.name.name));
    system->doc = declaration.doc;
    system->range = declaration.name.range;
    if (declaration.name.name == "local")
      context.emitter.build(declaration.name.range, diag::DuplicateName, "system", "local")
          .note({}, "'local' is the machine that expc runs on")
          .emit();
    else if (const System* first = context.program.findSystem(system->name))
      duplicateName(context.emitter, "system", declaration.name, first->range);
    checkSystem(context, scope, declaration, *system);
    context.program.systems.push_back(std::move(system));
  }
}

}  // namespace expc::check
