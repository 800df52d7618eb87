// The frame of a study: the order in which its parts are checked (checkParts), its workloads and their
// arguments, rules, metrics, controls, criteria and presets. Later parts refer to earlier ones: factors to
// arguments, comparisons to factors, criteria to comparisons, the design to everything that is measured.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "runtime/base/entry.h"
#include "runtime/plan/evaluate.h"
#include "stdlib/stdlib.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(NoWorkload, "the study '{0}' has no workload");
EXPC_DIAGNOSTIC(MissingArgument, "'{0}' needs a value for {1}");
EXPC_DIAGNOSTIC(MissingLabel, "of several workloads each needs a name");

/// The workload of a name; null after a report, which names the import that is missing if a standard module has
/// it.
const Workload* findWorkload(Context& context, ModuleScope& scope, const ast::QualifiedName& name) {
  const ast::Identifier& last = name.parts.back();
  const ModuleScope* where = context.scopeOf(name, scope);
  if (!where) return nullptr;
  if (const auto* found = entryOf(where->workloads, last.name); found && name.parts.size() <= 2) {
    context.note(last.range, (*found)->range);
    return *found;
  }
  // A standard module that is not imported may have it: search the embedded text for its declaration.
  for (std::string_view module : stdlib::names())
    if (stdlib::module(module)->find(fmt::format("\nworkload {} ", last.name)) != std::string_view::npos) {
      context.emitter.emit(last.range, diag::UnknownName, "workload", last.name, "")
          .note("write 'import std.{0}' and '{0}.{1}'", module, last.name);
      return nullptr;
    }
  if (where->services.contains(last.name))
    context.emitter.emit(last.range, BadService, last.name, "is not a workload")
        .note("a study runs a workload that names it: 'service {}'", last.name);
  else
    unknownName(context.emitter, "workload", last, namesOf(where->workloads));
  return nullptr;
}

/// Limit on workloads of one study: each is a part of the conditions of all parameters.
constexpr size_t kMaxWorkloads = 256;

/// Fills study.uses, without arguments; false after a report.
bool findUses(StudyContext& context) {
  const auto& declared = context.declaration->workloads;
  if (declared.size() > kMaxWorkloads)
    return context.emitter.emit(declared[kMaxWorkloads].name.range, NotSupported,
                                fmt::format("a study with more than {} workloads", kMaxWorkloads));
  Once labels;
  bool good = true;
  for (const ast::WorkloadUse& declaration : declared) {
    Use use;
    use.range = declaration.name.range;
    use.workload = findWorkload(context.context, context.scopeAt(declaration.name.range), declaration.name);
    good &= use.workload != nullptr;
    // Labels become the levels of the factor `workload`, so several workloads need them.
    if (declared.size() > 1 && !declaration.label) {
      context.emitter.emit(declaration.name.range, MissingLabel)
          .note("write 'workload ours = {}(…)'", joined(declaration.name));
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

/// Fills the arguments of a use: defaults first, then what the study gives.
void checkArguments(StudyContext& context, const ast::WorkloadUse& declaration, Use& use) {
  const Workload& workload = *context.study.workload;
  const Workload& real = *use.workload;
  use.arguments.resize(workload.parameters.size());
  use.argument_ranges.resize(workload.parameters.size());
  for (size_t i = 0; i < use.arguments.size(); ++i)
    if (int index = use.parameter_of[i]; index >= 0) use.arguments[i] = real.parameters[index].fallback;
  for (const ast::CallArgument& argument : declaration.arguments) {
    if (!argument.name) {
      context.emitter.emit(argument.value->range, TypeMismatch, "an argument of a workload", "'name = value'",
                           "a bare value");
      continue;
    }
    const ast::Identifier& name = *argument.name;
    int index = real.findParameter(name.name);
    if (index < 0) {
      unknownName(context.emitter, "parameter", name, namesOf(real.parameters), " of " + real.name);
      context.context.lookUp(*argument.value, context.place());
      // A misspelt parameter; its value may be one that seems to be missing.
      context.stray = true;
      continue;
    }
    context.note(name, real.parameters[index].range);
    // The index in the union differs from the one in the real workload, which has the type and the allowed
    // values.
    size_t at = workload.findParameter(name.name);
    if (use.argument_ranges[at].isValid()) {
      duplicateName(context.emitter, "argument", name, use.argument_ranges[at]);
      continue;
    }
    use.argument_ranges[at] = name.range;
    const Parameter& parameter = real.parameters[index];
    if (auto value = context.constant(*argument.value, parameter.type, fmt::format("'{}'", parameter.name),
                                      parameter.refinement))
      use.arguments[at] = std::move(value);
  }
}

/// Sets the study's workload: the only one, or the union of several; false after reporting that they do not
/// fit.
bool joinUses(StudyContext& context) {
  Study& study = context.study;
  // A single workload is used as it is, with the identity as its mapping.
  if (study.uses.size() > 1) {
    study.workload = unite(context);
  } else {
    study.workload = study.uses[0].workload;
    if (study.workload->command) study.uses[0].computed = study.workload->command->computed;
    study.uses[0].parameter_of.resize(study.workload->parameters.size());
    for (size_t i = 0; i < study.uses[0].parameter_of.size(); ++i) study.uses[0].parameter_of[i] = int(i);
  }
  if (!study.workload) return false;
  study.metrics = study.workload->metrics;
  return true;
}

/// Finds the study's workloads; false after reporting that nothing is left to go on with.
bool checkUses(StudyContext& context) {
  Study& study = context.study;
  if (context.declaration->workloads.empty())
    return context.emitter.emit(context.declaration->name.range, NoWorkload, study.name)
        .note("write 'workload image.mobilenet_v2(…)' in it");
  return findUses(context) && joinUses(context);
}

/// Puts an empty workload in the place of those that were not found, so that the rest of the study can be
/// searched for names.
void standIn(StudyContext& context) {
  auto& uses = context.study.uses;
  auto nothing = std::make_unique<Workload>();
  nothing->valid = false;
  if (uses.empty()) uses.emplace_back();
  for (Use& use : uses)
    if (!use.workload) use.workload = nothing.get();
  context.context.program.workloads.push_back(std::move(nothing));
  if (joinUses(context)) return;
  // They do not fit together; go on with the first.
  uses.resize(1);
  joinUses(context);
}

void checkAllArguments(StudyContext& context) {
  const size_t count = std::min(context.study.uses.size(), context.declaration->workloads.size());
  for (size_t i = 0; i < count; ++i) checkArguments(context, context.declaration->workloads[i], context.study.uses[i]);
}

/// Reports parameters that have neither a default nor an argument nor a factor.
void checkNoArgumentMissing(StudyContext& context) {
  const Study& study = context.study;
  // A misspelt name may be the missing one, and was reported.
  if (context.stray) return;
  for (const Use& use : study.uses) {
    std::vector<std::string> missing;
    for (size_t i = 0; i < use.arguments.size(); ++i) {
      const Parameter& parameter = study.parameter(i);
      // An argument that was given and refused is not missing.
      bool needed = use.parameter_of[i] >= 0 && !use.arguments[i] && !use.argument_ranges[i].isValid();
      if (needed && study.factor_of[i] < 0 && !parameter.type.isError())
        missing.push_back(fmt::format("'{}'", parameter.name));
    }
    if (missing.empty()) continue;
    source::Range range = context.declaration->workloads[&use - study.uses.data()].name.range;
    context.emitter.emit(range, MissingArgument, use.workload->name, diag::list(missing))
        .note(use.workload->range,
              "the workload is declared here; what has no default must be an argument or a factor");
  }
}

/// The workload's rules first, then the study's.
void checkRules(StudyContext& context) {
  Study& study = context.study;
  study.rules = study.workload->rules;
  Once names;
  for (const ast::RuleDecl& declaration : context.declaration->rules) {
    if (declaration.name) names.add(context.emitter, "rule", *declaration.name);
    if (auto rule = checkRule(context.context, declaration, context.place(true)))
      study.rules.push_back(std::move(*rule));
  }
}

/// Derived metrics of the study; a study measures nothing itself.
void checkMetrics(StudyContext& context) {
  for (const ast::MetricDecl& declaration : context.declaration->metrics)
    if (!declaration.derived)
      context.emitter.emit(declaration.name.range, NotSupported, "a measured metric in a study")
          .note("a workload declares what is measured; a study derives: 'metric share = launch_time / wall'");
  DerivedMetrics{context.context, context.declaration->metrics, context.study.metrics, context.place()}.declareAll();
}

/// Controls: names with one level for each factor that they pin.
void checkControls(StudyContext& context) {
  Once names;
  for (const ast::ControlDecl& declaration : context.declaration->controls) {
    const ast::Identifier& name = declaration.name;
    if (!names.add(context.emitter, "control", name)) continue;
    Control control{name.name, {}, name.range};
    Once bound;
    bool good = true;
    for (const ast::CallArgument& selector : declaration.selectors) {
      assert(selector.name && "the parser wants a name in each selector");
      const auto factor = context.factor(*selector.name);
      std::optional<unsigned> level;
      if (bound.add(context.emitter, "level of", *selector.name) && factor)
        level = context.levelByPart(*selector.name, *selector.value, *factor, "the level");
      good &= level.has_value();
      if (level) control.pins.push_back({*factor, *level});
    }
    if (good) context.study.controls.push_back(std::move(control));
  }
}

/// Presets of the file and of the study, each checked against this study.
void checkPresets(StudyContext& context) {
  std::vector<const ast::PresetDecl*> all;
  // The file's presets come first, so a study's preset of the same name is the one that is refused.
  for (const ast::PresetDecl& declaration : context.scope.ast->presets) all.push_back(&declaration);
  for (const ast::PresetDecl& declaration : context.declaration->presets) all.push_back(&declaration);
  for (const ast::PresetDecl* declaration : all) {
    if (!isFresh(context.emitter, "preset", declaration->name, context.study.presets)) continue;
    if (auto preset = checkPreset(context, *declaration, false)) context.study.presets.push_back(std::move(*preset));
  }
}

/// Sets the confidence of criteria that state none: the study's, else its file's.
void declareConfidence(StudyContext& context) {
  const auto& own = context.declaration->confidences;
  const auto& declared = own.empty() ? context.scope.ast->confidences : own;
  if (declared.empty()) return;
  if (declared.size() > 1)
    diag::duplicateName(context.emitter, declared[1].range, "statement", "confidence", declared[0].range);
  context.confidence = checkConfidence(context, *declared[0].value);
}

void checkCriteria(StudyContext& context) {
  Once names;
  for (const ast::CriterionDecl& declaration : context.declaration->criteria) {
    names.add(context.emitter, "criterion", declaration.name);
    if (auto criterion = checkCriterion(context, declaration)) context.study.criteria.push_back(std::move(*criterion));
  }
  lintClaims(context.study, context.emitter);
}

/// Appends a metric behind those that it reads, each once.
void want(const Study& study, unsigned metric, std::vector<unsigned>& result) {
  if (is_contained(result, metric)) return;
  if (study.metrics[metric].derived)
    for (unsigned read : metricsOf(*study.metrics[metric].derived)) want(study, read, result);
  result.push_back(metric);
}

}  // namespace

diag::Refusal StudyScope::unknownSubject(const ast::Identifier& name, std::string_view what) {
  // A claim states this comparison itself, so it was refused.
  if (name.name.find('(') != std::string::npos) return context.refuse();
  // A comparison in the place of a metric exists, so it was not refused; say below that it is no metric.
  if (study.findComparison(name.name) < 0 && refused(name, {SymbolKind::Comparison, SymbolKind::Metric})) return {};
  for (const Use& use : study.uses) {
    // A metric that only some of several workloads have.
    const int metric = study.uses.size() > 1 ? use.workload->findMetric(name.name) : -1;
    if (metric < 0) continue;
    return emitter.emit(name.range, diag::UnknownName, what, name.name, "")
        .note(use.workload->metrics[metric].range,
              "the workload '{}' has it, but a study can measure only metrics that all of its workloads have",
              use.label);
  }
  return unknownName(emitter, what, name, namesOf(study.comparisons, study.metrics),
                     fmt::format(" of the study '{}'", study.name));
}

std::optional<Subject> StudyScope::subject(const ast::Identifier& word) {
  if (const int found = study.findComparison(word.name); found >= 0) {
    note(word, study.comparisons[found].range);
    return Subject{study.comparisons[found].metric, unsigned(found)};
  }
  if (const int found = study.findMetric(word.name); found >= 0) {
    note(word, study.metrics[found].range);
    return Subject{unsigned(found), std::nullopt};
  }
  return unknownSubject(word, "metric or comparison");
}

void StudyScope::declareLets() {
  for (const ast::LetDecl& let : declaration->lets)
    if (isFresh(emitter, "let", let.name, study.workload->parameters)) declareLet(emitter, "let", let, lets);
  for (const ast::ParamDecl& param : declaration->params)
    if (const Constant* constant = named(study.constants, param.name.name);
        constant && declareLet(emitter, "let", param, lets))
      lets[param.name.name] = {&param, LetEntry::State::Done,
                               constantOf(constant->value.value_or(Value()),
                                          constant->value ? constant->type : Type::error(), constant->range)};
}

/// Checks everything of a study but its workloads. `before`: the number of problems when the study began.
static void checkParts(StudyContext& context, size_t before) {
  Study& study = context.study;
  study.factor_of.assign(study.workload->parameters.size(), -1);
  checkConstants(context);
  context.declareLets();
  // Resolve each let once, so that mistakes in unused ones are reported. They may read parameters; where a
  // constant is wanted, such a let is reported as not constant.
  for (const ast::LetDecl& let : context.declaration->lets)
    if (auto* entry = entryOf(context.lets, let.name.name)) context.context.let(*entry, context.place());
  checkAllArguments(context);
  checkFactors(context);
  checkNoArgumentMissing(context);
  checkRules(context);
  checkMetrics(context);
  checkComparisons(context);
  checkReferences(context);
  declareConfidence(context);
  checkCriteria(context);
  checkExpected(context);
  checkControls(context);
  // A study's own design replaces the file's.
  const auto& designs = context.declaration->designs;
  study.design = checkDesign(context, designs.empty() ? context.scope.ast->designs : designs, false);
  checkOutputs(context);
  // After everything that adds to what is measured.
  checkMeasures(context);
  checkPresets(context);
  checkDesignCovers(context, before);
}

std::unique_ptr<Study> checkStudy(Checking& context, ModuleScope& scope, const ast::StudyDecl& written) {
  const size_t before = context.problems();
  auto study = std::make_unique<Study>();
  study->name = written.name.name;
  study->doc = written.doc;
  study->range = written.name.range;
  study->valid = false;
  const diag::Emitter::Including including(context.emitter, study->parts);
  bool whole = true;
  const ast::StudyDecl& declaration = withParts(context, scope, written, *study, whole);
  study->declaration = &declaration;
  // A part that was not found may bring anything.
  if (StudyContext inside{{context, scope, &declaration, *study}, context, *study}; whole && checkUses(inside)) {
    checkParts(inside, before);
    study->valid = study->workload->valid && context.problems() == before;
    return study;
  }
  // Without its workloads or parts nothing of a study can be judged, but many of its names have a meaning: check it
  // silently, against a stand-in for workloads.
  diag::Collector unread;
  diag::Emitter silent(unread);
  Checking quiet{{context.sources, silent, context.names}, context.program};
  StudyContext inside{{quiet, scope, &declaration, *study}, quiet, *study};
  if (whole || !checkUses(inside)) standIn(inside);
  checkParts(inside, 0);
  return study;
}

std::vector<unsigned> Study::measuredWith(const std::vector<const Criterion*>& chosen) const {
  std::vector<unsigned> result;
  for (unsigned metric : measured) want(*this, metric, result);
  for (const Criterion* criterion : chosen)
    for (const Assertion& assertion : criterion->assertions)
      if (assertion.metric) want(*this, *assertion.metric, result);
  return result;
}

}  // namespace expc::check
