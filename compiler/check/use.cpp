// The workloads that a study uses, and their arguments.

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "stdlib/stdlib.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(NoWorkload, Error, "the study '{0}' has no workload");
EXPC_DIAGNOSTIC(MissingArgument, Error, "'{0}' needs a value for {1}");
EXPC_DIAGNOSTIC(MissingLabel, Error, "of several workloads each needs a name");

const Workload* findWorkload(Context& context, ModuleScope& scope, const ast::QualifiedName& name) {
  const ast::Identifier& last = name.parts.back();
  const ModuleScope* where = context.expressions.scopeOf(name, scope);
  if (!where) return nullptr;
  if (auto found = where->workloads.find(last.name); found != where->workloads.end() && name.parts.size() <= 2) {
    context.expressions.note(last.range, found->second->range);
    return found->second;
  }
  for (std::string_view module : stdlib::names())
    if (stdlib::module(module)->find(fmt::format("\nworkload {} ", last.name)) != std::string_view::npos) {
      context.emitter.build(last.range, diag::UnknownName, "workload", last.name, "")
          .note({}, "write 'import std.{0}' and '{0}.{1}'", module, last.name)
          .emit();
      return nullptr;
    }
  unknownName(context.emitter, "workload", last, namesOf(where->workloads));
  return nullptr;
}

/// Each is a part of the conditions of all.
constexpr size_t kMaxWorkloads = 256;

/// Fills study.uses, without arguments; false after a report.
bool findUses(StudyContext& context) {
  const auto& declared = context.declaration->workloads;
  if (declared.size() > kMaxWorkloads)
    return context.emitter.refuse(declared[kMaxWorkloads].name.range, errors::NotSupported,
                                  fmt::format("a study with more than {} workloads", kMaxWorkloads));
  Once labels;
  bool good = true;
  for (const ast::WorkloadUse& declaration : declared) {
    Use use;
    use.range = declaration.name.range;
    use.workload = findWorkload(context.context, context.scope, declaration.name);
    good &= use.workload != nullptr;
    if (declared.size() > 1 && !declaration.label) {
      context.emitter.build(declaration.name.range, MissingLabel)
          .note({}, "write 'workload ours = {}(…)'", joined(declaration.name))
          .emit();
      good = false;
    } else if (declared.size() > 1) {
      use.label = declaration.label->name;
      use.range = declaration.label->range;
      good &= labels.add(context.emitter, "workload", *declaration.label);
    }
    context.study.uses.push_back(std::move(use));
  }
  return good;
}

void checkArguments(StudyContext& context, const ast::WorkloadUse& declaration, Use& use) {
  const Workload& workload = *context.study.workload;
  const Workload& real = *use.workload;
  use.arguments.resize(workload.parameters.size());
  use.argument_ranges.resize(workload.parameters.size());
  for (size_t i = 0; i < use.arguments.size(); ++i)
    if (int index = use.parameter_of[i]; index >= 0) use.arguments[i] = real.parameters[index].fallback;
  for (const ast::CallArgument& argument : declaration.arguments) {
    if (!argument.name) {
      context.emitter.emit(argument.value->range, errors::TypeMismatch, "an argument of a workload", "'name = value'",
                           "a bare value");
      continue;
    }
    const ast::Identifier& name = *argument.name;
    int index = real.findParameter(name.name);
    if (index < 0) {
      unknownName(context.emitter, "parameter", name, namesOf(real.parameters), " of " + real.name);
      context.expressions().lookUp(*argument.value, context.place());
      context.stray = true;
      continue;
    }
    context.note(name, real.parameters[index].range);
    size_t at = static_cast<size_t>(workload.findParameter(name.name));
    if (use.argument_ranges[at].isValid()) {
      duplicateName(context.emitter, "argument", name, use.argument_ranges[at]);
      continue;
    }
    use.argument_ranges[at] = name.range;
    const Parameter& parameter = real.parameters[index];
    std::string what = fmt::format("'{}'", parameter.name);
    auto value = context.expressions().constant(*argument.value, context.place(), parameter.type, what);
    if (value &&
        context.expressions().allows(*value, argument.value->range, parameter.type, parameter.refinement, what))
      use.arguments[at] = std::move(value);
  }
}

/// Decides on the study's workload: the one, or their union; false after reporting that they do not go together.
bool joinUses(StudyContext& context) {
  Study& study = context.study;
  if (study.uses.size() > 1) {
    study.workload = unite(context);
  } else {
    study.workload = study.uses[0].workload;
    study.uses[0].parameter_of.resize(study.workload->parameters.size());
    for (size_t i = 0; i < study.uses[0].parameter_of.size(); ++i) study.uses[0].parameter_of[i] = static_cast<int>(i);
  }
  if (!study.workload) return false;
  study.metrics = study.workload->metrics;
  return true;
}

}  // namespace

bool checkUses(StudyContext& context) {
  Study& study = context.study;
  if (context.declaration->workloads.empty())
    return context.emitter.build(context.declaration->name.range, NoWorkload, study.name)
        .note({}, "write 'workload image.mobilenet_v2(…)' in it")
        .refuse();
  return findUses(context) && joinUses(context);
}

void standIn(StudyContext& context) {
  auto& uses = context.study.uses;
  auto nothing = std::make_unique<Workload>();
  nothing->valid = false;
  if (uses.empty()) uses.emplace_back();
  for (Use& use : uses)
    if (!use.workload) use.workload = nothing.get();
  context.context.program.workloads.push_back(std::move(nothing));
  if (joinUses(context)) return;
  uses.resize(1);  // they do not go together
  joinUses(context);
}

void checkAllArguments(StudyContext& context) {
  const size_t count = std::min(context.study.uses.size(), context.declaration->workloads.size());
  for (size_t i = 0; i < count; ++i) checkArguments(context, context.declaration->workloads[i], context.study.uses[i]);
}

void checkNoArgumentMissing(StudyContext& context) {
  const Study& study = context.study;
  if (context.stray) return;
  for (const Use& use : study.uses) {
    std::vector<std::string> missing;
    for (size_t i = 0; i < use.arguments.size(); ++i) {
      const Parameter& parameter = study.workload->parameters[i];
      bool needed = use.parameter_of[i] >= 0 && !use.arguments[i] && !use.argument_ranges[i].isValid();
      if (needed && study.factor_of[i] < 0 && !parameter.type.isError())
        missing.push_back(fmt::format("'{}'", parameter.name));
    }
    if (missing.empty()) continue;
    source::Range range = context.declaration->workloads[static_cast<size_t>(&use - study.uses.data())].name.range;
    context.emitter.build(range, MissingArgument, use.workload->name, diag::list(missing))
        .note(use.workload->range, "the workload is declared here; what has no default must be an argument or a factor")
        .emit();
  }
}

}  // namespace expc::check
