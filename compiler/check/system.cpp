#include "compiler/check/system.h"

#include "compiler/check/checker.h"

namespace expc::check {

const std::vector<SystemProperty>& systemProperties() {
  static const std::vector<SystemProperty> all = [] {
    Dimension bytes = Dimension::of(Dimension::Bytes), time = Dimension::of(Dimension::Time);
    Type memory = Type::number(bytes), rate = Type::number(*bytes.over(time));
    Type operations = Type::number(*Dimension::of(Dimension::Operations).over(time));
    return std::vector<SystemProperty>{
        {"gpus", Type::integer(), "devices of a node; on a machine without GPUs its slots of cores"},
        {"gpu.present", Type::boolean(),
         "whether the devices are GPUs; where one of their properties is given they are"},
        {"gpu.name", Type::string(), "what the device calls itself"},
        {"gpu.memory", memory, "memory of one device"},
        {"gpu.bandwidth", rate, "memory bandwidth of one device"},
        {"gpu.fp64", operations, "most operations of one device in matrix products of fp64"},
        {"gpu.fp32", operations, "the same of fp32, without TF32"},
        {"gpu.tf32", operations, "the same of TF32"},
        {"gpu.bf16", operations, "the same of bf16"},
        {"gpu.fp16", operations, "the same of fp16"},
        {"gpu.link", rate, "bandwidth between one device and all others, in one direction"},
        {"host.link", rate, "bandwidth between host and device, in one direction"},
        {"nodes", Type::integer(), "nodes that a run may use"},
        {"sockets", Type::integer(), "sockets of a node"},
        {"cores", Type::integer(), "cores of a node"},
        {"memory", memory, "memory of a node"},
    };
  }();
  return all;
}

int findSystemProperty(std::string_view name) {
  const auto& all = systemProperties();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return static_cast<int>(i);
  return -1;
}

System System::unknown(std::string name) {
  System system;
  system.name = std::move(name);
  system.values.resize(systemProperties().size());
  return system;
}

const std::optional<Value>& System::operator[](std::string_view property) const {
  return values[static_cast<size_t>(findSystemProperty(property))];
}

void System::set(std::string_view property, Value value) {
  values[static_cast<size_t>(findSystemProperty(property))] = std::move(value);
}

namespace {

bool describesGpu(const System& system) {
  const auto& all = systemProperties();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name.starts_with("gpu.") && system.values[i]) return true;
  return false;
}

void checkSystem(Context& context, ModuleScope& scope, const ast::SystemDecl& declaration, System& system) {
  NameMap<source::Range> seen;
  for (const ast::Assignment& assignment : declaration.properties) {
    std::string name = joined(assignment.target);
    int index = findSystemProperty(name);
    if (index < 0) {
      std::vector<std::string> names;
      for (const SystemProperty& known : systemProperties()) names.emplace_back(known.name);
      errors::unknownName(context.emitter, assignment.target.range, "property of a system", name, names);
      continue;
    }
    if (auto [at, fresh] = seen.emplace(name, assignment.target.range); !fresh) {
      errors::duplicateName(context.emitter, assignment.target.range, "property", name, at->second);
      continue;
    }
    const SystemProperty& property = systemProperties()[static_cast<size_t>(index)];
    auto value =
        context.expressions.constant(*assignment.value, {&scope}, property.type, fmt::format("'{}'", property.name));
    if (!value) continue;
    if (value->asNumber() && value->asNumber()->sign() <= 0) {
      context.emitter.emit(assignment.value->range, errors::OutOfRange, fmt::format("'{}'", property.name),
                           value->toString(), "what is above 0");
      continue;
    }
    system.values[static_cast<size_t>(index)] = std::move(value);
  }
  if (!system["gpu.present"] && describesGpu(system)) system.set("gpu.present", Value::boolean(true));
}

}  // namespace

void declareSystems(Context& context, ModuleScope& scope) {
  for (const ast::SystemDecl& declaration : scope.ast->systems) {
    auto system = std::make_unique<System>(System::unknown(scope.prefix + declaration.name.name));
    system->doc = declaration.doc;
    system->range = declaration.name.range;
    if (declaration.name.name == "local")
      context.emitter.build(declaration.name.range, errors::DuplicateName, "system", "local")
          .note({}, "'local' is the machine that expc runs on")
          .emit();
    else if (const System* first = context.program.findSystem(system->name))
      errors::duplicateName(context.emitter, declaration.name.range, "system", declaration.name.name, first->range);
    checkSystem(context, scope, declaration, *system);
    context.program.systems.push_back(std::move(system));
  }
}

}  // namespace expc::check
