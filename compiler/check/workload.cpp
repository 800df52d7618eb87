// Declarations of a module: units, enums, lets, metrics, workloads, machines. Enums come before parameters,
// parameters before `when`s, lets before conditions, metrics before estimates: each step reads what the earlier
// ones declared.

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "runtime/base/entry.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadEstimate, "an estimate is of memory (type Bytes), but '{0}' is of type {1}");
EXPC_DIAGNOSTIC(BadVersion, "a workload's version is a whole number from 1, not {0}");

/// Declares the module's own units and resolves them.
void declareUnits(Context& context, ModuleScope& scope) {
  for (const ast::LetDecl& declaration : scope.ast->units) {
    const ast::Identifier& name = declaration.name;
    // The lexer would read these behind a number as an exponent (5e3) or a separator (5_row).
    const bool exponent = (name.name[0] == 'e' || name.name[0] == 'E') && name.name.size() > 1 && name.name[1] >= '0' &&
                          name.name[1] <= '9';
    if (auto built_in = findUnit(name.name))
      context.emitter.emit(name.range, diag::DuplicateName, "unit", name.name)
          .note("it is built in; its type is {}", built_in->dimension.typeName());
    else if (name.name[0] == '_' || exponent)
      context.emitter.emit(name.range, NotSupported, fmt::format("a unit called '{}'", name.name))
          .note("after a number this name already means something else, as in '5{}'", name.name);
    else
      declareLet(context.emitter, "unit", declaration, scope.units);
  }
  // A unit's value is one of it in base units, which must be above zero.
  for (auto& [name, entry] : scope.units) {
    context.let(entry, {&scope});
    const Formula& one = *entry.formula;
    const std::string what = fmt::format("the unit '{}'", name);
    if (one.type.isError()) continue;
    if (!one.constant.asNumber())
      context.emitter.emit(one.range, TypeMismatch, what, "a number of another unit", one.type.name());
    else
      context.positive(one.constant, one.range, what);
  }
}

/// Declares all enums before their levels, since a payload may be of any enum of the file.
void declareEnums(Checking& context, ModuleScope& scope) {
  std::vector<std::pair<const ast::EnumDecl*, EnumType*>> fresh;
  for (const ast::EnumDecl& declaration : scope.ast->enums) {
    auto type = std::make_unique<EnumType>();
    type->name = declaration.name.name;
    type->doc = declaration.doc;
    type->ordered = declaration.ordered;
    type->range = declaration.name.range;
    // A repeated enum gets a type of its own all the same, so that its levels are checked.
    auto [at, added] = scope.enums.emplace(type->name, type.get());
    if (!added) diag::duplicateName(context.emitter, declaration.name.range, "enum", type->name, at->second->range);
    fresh.emplace_back(&declaration, type.get());
    context.program.enums.push_back(std::move(type));
  }
  for (auto& [declaration, type] : fresh) {
    for (const ast::EnumLevel& level : declaration->levels) {
      if (!isFresh(context.emitter, "level", level.name, type->levels)) continue;
      EnumType::Level added{level.name.name, {}, level.name.range};
      for (const ast::EnumField& field : level.fields)
        added.fields.push_back({field.name ? field.name->name : "", resolveType(context, *field.type, scope).type});
      type->levels.push_back(std::move(added));
    }
  }
}

/// Checks type and default of a parameter, one of `siblings`; its type is Error if either was refused. The
/// conditions come later.
Parameter checkParameter(Context& context, ModuleScope& scope, const ast::ParamDecl& declaration,
                         const std::vector<ast::ParamDecl>& siblings) {
  Parameter parameter;
  parameter.name = declaration.name.name;
  parameter.doc = declaration.doc;
  parameter.range = declaration.name.range;
  auto [type, allowed] = resolveType(context, declaration.type, scope);
  parameter.type = type;
  parameter.refinement = std::move(allowed);
  if (declaration.value) {
    ExpressionScope place{&scope};
    place.siblings = &siblings;
    const std::string what = fmt::format("the default of '{}'", parameter.name);
    parameter.fallback = context.constant(*declaration.value, place, type, what, parameter.refinement);
    if (!parameter.fallback) parameter.type = Type::error();
  }
  return parameter;
}

/// Declares a workload's own lets, which its conditions, estimates and arguments may use.
void declareLets(WorkloadScope& of) {
  for (const ast::LetDecl& let : of.declaration.lets)
    if (isFresh(of.emitter, "let", let.name, of.workload.parameters)) declareLet(of.emitter, "let", let, of.lets);
  ExpressionScope place = of.place();
  // A let that reads files is refused at its use outside of estimates (letOf).
  place.lookups = true;
  for (const ast::LetDecl& let : of.declaration.lets)
    if (auto* entry = entryOf(of.lets, let.name.name)) of.context.let(*entry, place);
}

/// Declares the lets of a workload and the conditions under which its parameters exist.
void declareActivity(WorkloadScope& of) {
  bringActivity(of);
  declareLets(of);
  for (const ast::ParamDecl& param : of.declaration.params)
    if (param.when)
      of.workload.parameters[of.workload.findParameter(param.name.name)].when =
          of.context.condition(*param.when, of.place(), "the condition of 'when'");
}

/// Moves parameters behind those that their `when`s read, so that later phases decide activity in one pass. Returns
/// whether any was moved; formulas, which name parameters by index, are to be built again then.
bool sortParameters(Context& context, Workload& workload) {
  std::vector<Parameter> sorted;
  bool moved = false;
  inOrder(
      workload.parameters.size(),
      [&](size_t at, auto needs) {
        if (const FormulaPtr& when = workload.parameters[at].when)
          for (unsigned read : parametersOf(*when)) needs(read);
      },
      [&](size_t at) {
        moved |= at != sorted.size();
        sorted.push_back(workload.parameters[at]);
      },
      [&](size_t at) { context.emitter.emit(workload.parameters[at].range, WhenCycle, workload.parameters[at].name); });
  workload.parameters = std::move(sorted);
  return moved;
}

/// Adds a metric unless its name is taken.
void addMetric(WorkloadScope& of, Metric metric) {
  if (isFresh(of.emitter, "metric", metric, of.workload.metrics)) of.workload.metrics.push_back(std::move(metric));
}

/// Adds the metrics of a module (`metric profiler.*`). For a command each is read by the module's `from`, else by that
/// of `all`, else by the workload's `outputs`, which must be valid (`outputs`).
void takeMetrics(WorkloadScope& of, const ast::MetricDecl& all, bool outputs) {
  const ast::Identifier& module = all.name;
  if (all.source) outputs = checkOutputsClause(of, *all.source);
  ModuleScope* found = of.context.module(module, of.scope);
  if (!found) return;
  if (found->ast->metrics.empty())
    of.emitter.emit(module.range, diag::UnknownName, "metric", "*", " of " + module.name)
        .note("the module itself declares none; its workloads have their own");
  for (auto [declared, metric] : found->metrics) {
    if (declared->source || outputs)
      checkMetricSource(of, declared->source ? *found : of.scope, *declared, metric, all.source.get());
    takeRows(of.workload, metric);
    addMetric(of, std::move(metric));
  }
}

/// Checks an estimate: of a metric of type Bytes, and of that type itself.
void checkEstimate(WorkloadScope& of, const ast::EstimateDecl& declaration) {
  Context& context = of.context;
  Workload& workload = of.workload;
  ExpressionScope place = of.place();
  place.lookups = true;
  FormulaPtr value = context.build(*declaration.value, place), when;
  if (declaration.when) when = context.condition(*declaration.when, place, "the condition of 'when'");
  const ast::Identifier& name = declaration.name;
  const int metric = workload.findMetric(name.name);
  if (metric < 0) {
    // A metric that was refused is no second mistake.
    if (context.refused(name, place, {SymbolKind::Metric})) return;
    return void(unknownName(context.emitter, "metric", name, namesOf(workload.metrics),
                            fmt::format(" of the workload '{}'", workload.name)));
  }
  context.note(name.range, workload.metrics[metric].range);
  Dimension bytes = Dimension::of(Dimension::Bytes);
  // Only memory is estimated: it decides whether a point can run at all.
  if (workload.metrics[metric].dimension != bytes)
    return void(context.emitter.emit(name.range, BadEstimate, name.name, workload.metrics[metric].dimension.typeName())
                    .note(workload.metrics[metric].range, "the metric is declared here"));
  if (value->type.isError() || (declaration.when && !when)) return;
  if (!value->type.agreesWith(Type::number(bytes)))
    return void(context.emitter.emit(declaration.value->range, UnitMismatch, fmt::format("'{}'", name.name), "Bytes",
                                     "its estimate", value->type.name()));
  workload.estimates.push_back({unsigned(metric), std::move(value), std::move(when), name.range});
}

/// Checks the measured metrics of a workload or service.
void checkMetrics(WorkloadScope& of, const std::vector<ast::MetricDecl>& metrics) {
  const bool service = of.service;
  bringMetricsAndRules(of);
  const bool outputs = !of.declaration.outputs || checkOutputsClause(of, *of.declaration.outputs);
  for (const ast::ParamDecl& param : of.declaration.params) {
    if (service && param.inside)
      of.emitter.emit(param.name.range, NotSupported,
                      "a service's parameter whose levels a process goes through by itself");
    if (service || !param.inside || (!param.inside_source && !outputs)) continue;
    if (auto inside = checkInside(of, param))
      of.workload.parameters[of.workload.findParameter(param.name.name)].inside = std::move(inside);
  }
  for (const ast::MetricDecl& declared : metrics) {
    if (declared.all && !service) takeMetrics(of, declared, outputs);
    if (service && (declared.all || declared.derived))
      of.emitter.emit(declared.range, NotSupported, "a service's metric that is not measured");
    if (declared.all || declared.derived) continue;
    auto metric = checkMetric(of.context, of.scope, declared);
    if (!metric || (service && !checkServiceMetric(of, declared, *metric))) continue;
    // Keep a metric whose source is refused: what reads it has no mistake of its own, and it may stand in rows.
    if (service || ((declared.source || outputs) && checkMetricSource(of, of.scope, declared, *metric)))
      takeRows(of.workload, *metric);
    addMetric(of, std::move(*metric));
  }
}

/// Declares one workload or service. It is added even with mistakes inside, marked as invalid, so that its uses are
/// resolved.
void declareWorkload(Checking& context, ModuleScope& scope, const ast::WorkloadDecl& declaration, bool service) {
  auto workload = std::make_unique<Workload>();
  size_t errors_before = context.emitter.errors();
  workload->name = scope.file->prefix + declaration.name.name;
  workload->doc = declaration.doc;
  workload->range = declaration.name.range;
  if (declaration.version) workload->version = *declaration.version;
  if (workload->version < 1) context.emitter.emit(declaration.version_range, BadVersion, workload->version);
  WorkloadScope of{context, scope, declaration, service, *workload};
  findServices(of);
  bringParameters(of);
  std::set<std::string> brought;
  for (const Parameter& parameter : workload->parameters) brought.insert(parameter.name);
  for (const ast::ParamDecl& param : declaration.params) {
    Parameter parameter = checkParameter(context, scope, param, declaration.params);
    if (mergeOwn(of, parameter, brought)) continue;
    if (isFresh(context.emitter, "parameter", parameter, workload->parameters))
      workload->parameters.push_back(std::move(parameter));
  }
  // Parameters are complete here, so conditions may name any of them.
  declareActivity(of);
  if (sortParameters(context, *workload)) {
    of.lets.clear();
    declareActivity(of);
  }
  for (const ast::ParamDecl& param : declaration.params)
    if (param.strong)
      workload->parameters[workload->findParameter(param.name.name)].strong =
          context.condition(*param.strong, of.place(), "the condition of 'strong'");
  const std::vector<ast::MetricDecl> metrics = service ? declaration.metrics : withSeen(declaration);
  checkMetrics(of, metrics);
  // Measured metrics are complete here.
  if (!service) DerivedMetrics{context, metrics, workload->metrics, of.place()}.declareAll();
  for (const ast::EstimateDecl& declared : declaration.estimates) checkEstimate(of, declared);
  workload->command = checkCommand(of);
  for (const ast::RuleDecl& declared : declaration.rules) {
    auto rule = checkRule(context, declared, of.place());
    if (!rule) continue;
    rule->of_workload = true;
    workload->rules.push_back(std::move(*rule));
  }
  auto [at, added] = (service ? scope.services : scope.workloads).emplace(declaration.name.name, workload.get());
  if (!added) duplicateName(context.emitter, service ? "service" : "workload", declaration.name, at->second->range);
  workload->valid = context.emitter.errors() == errors_before;
  context.program.workloads.push_back(std::move(workload));
}

/// Whether a property of a GPU is known.
bool describesGpu(const System& system) {
  const auto& all = systemProperties();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name.starts_with("gpu.") && system.values[i]) return true;
  return false;
}

/// Checks the properties of a machine.
void checkSystem(Context& context, ModuleScope& scope, const ast::SystemDecl& declaration, System& system) {
  Once seen;
  for (const ast::Assignment& assignment : declaration.properties) {
    std::string name = joined(assignment.target);
    int index = findSystemProperty(name);
    if (index < 0) {
      diag::unknownName(context.emitter, assignment.target.range, "property of a system", name,
                        words::texts(words::Role::Property));
      continue;
    }
    if (!seen.add(context.emitter, "property", name, assignment.target.range)) continue;
    const SystemProperty& property = systemProperties()[index];
    const std::string what = fmt::format("'{}'", property.name);
    auto value = context.constant(*assignment.value, {&scope}, property.type, what);
    if (value && context.positive(*value, assignment.value->range, what)) system.values[index] = std::move(value);
  }
  // A description of a GPU implies that there is one.
  if (!system["gpu.present"] && describesGpu(system)) system.set("gpu.present", Value::boolean(true));
}

}  // namespace

bool declareLet(diag::Emitter& emitter, std::string_view what, const ast::LetDecl& declaration,
                NameMap<LetEntry>& entries) {
  const ast::Identifier& name = declaration.name;
  const auto [at, fresh] = entries.emplace(name.name, LetEntry{&declaration});
  if (!fresh) duplicateName(emitter, what, name, at->second.declaration->name.range);
  return fresh;
}

std::optional<Rule> checkRule(Context& context, const ast::RuleDecl& declaration, ExpressionScope place) {
  // Rules are the one place that may ask about a machine.
  place.system = true;
  bool require = declaration.kind == ast::RuleKind::Require;
  Rule rule;
  rule.kind = declaration.kind;
  rule.name = declaration.name ? declaration.name->name : "";
  rule.because = declaration.because.value_or("");
  rule.text = context.written(declaration.condition->range);
  rule.range = declaration.range;
  rule.condition = context.condition(*declaration.condition, place,
                                     require ? "the condition of 'require'" : "the condition of 'exclude'");
  if (!rule.condition) return std::nullopt;
  rule.parameters = parametersOf(*rule.condition);
  return rule;
}

void declareModule(Checking& context, ModuleScope& scope) {
  declareUnits(context, scope);
  declareEnums(context, scope);
  // Declare all before resolving any, since lets may read later ones.
  for (const ast::LetDecl& declaration : scope.ast->lets) declareLet(context.emitter, "let", declaration, scope.lets);
  for (const ast::LetDecl& declaration : scope.ast->lets) context.let(scope.lets.at(declaration.name.name), {&scope});
  for (const ast::MetricDecl& declaration : scope.ast->metrics) {
    if (declaration.all || declaration.derived)
      context.emitter.emit(declaration.range, NotSupported, "a derived metric outside of workloads and studies");
    else if (auto metric = checkMetric(context, scope, declaration))
      scope.metrics.emplace_back(&declaration, std::move(*metric));
  }
  // Services come first, since workloads take what they declare.
  for (const ast::WorkloadDecl& declaration : scope.ast->services) declareWorkload(context, scope, declaration, true);
  for (const ast::WorkloadDecl& declaration : scope.ast->workloads) declareWorkload(context, scope, declaration, false);
}

void declareSystems(Checking& context, ModuleScope& scope) {
  for (const ast::SystemDecl& declaration : scope.ast->systems) {
    auto system = std::make_unique<System>(System::unknown(scope.file->prefix + declaration.name.name));
    system->doc = declaration.doc;
    system->range = declaration.name.range;
    // `local` always means this machine.
    if (declaration.name.name == "local")
      context.emitter.emit(declaration.name.range, diag::DuplicateName, "system", "local")
          .note("'local' is the machine that expc runs on");
    else if (const System* first = context.program.findSystem(system->name))
      duplicateName(context.emitter, "system", declaration.name, first->range);
    checkSystem(context, scope, declaration, *system);
    context.program.systems.push_back(std::move(system));
  }
}

}  // namespace expc::check
