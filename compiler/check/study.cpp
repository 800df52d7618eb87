// A study's frame: its workload, arguments, factors and rules.

#include <algorithm>
#include <cassert>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(NoWorkload, Error, "the study '{0}' has no workload", std::string_view);
EXPC_DIAGNOSTIC(MissingArgument, Error, "'{0}' needs a value for {1}", std::string_view, std::string);
EXPC_DIAGNOSTIC(FactorIsArgument, Error, "'{0}' is both an argument and a factor", std::string_view);
EXPC_DIAGNOSTIC(DuplicateLevel, Error, "the level {0} of '{1}' is there twice", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(BaselineNotLevel, Error, "the baseline {0} is no level of '{1}'", std::string_view, std::string_view);

constexpr size_t kMaxFactors = 64;

const Workload* findWorkload(Context& context, ModuleScope& scope, const ast::QualifiedName& name) {
  const ModuleScope* where = &scope;
  const ast::Identifier& last = name.parts.back();
  if (name.parts.size() > 1) {
    auto module = scope.imports.find(name.parts[0].name);
    if (module == scope.imports.end()) {
      unknownModule(context.emitter, name.parts[0], scope);
      return nullptr;
    }
    if (!module->second) return nullptr;
    where = module->second;
  }
  if (name.parts.size() <= 2)
    if (auto found = where->workloads.find(last.name); found != where->workloads.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, workload] : where->workloads) names.push_back(known);
  errors::unknownName(context.emitter, last.range, "workload", last.name, names);
  return nullptr;
}

std::vector<std::string> parameterNames(const Workload& workload) {
  std::vector<std::string> names;
  for (const Parameter& parameter : workload.parameters) names.push_back(parameter.name);
  return names;
}

/// Fills study.arguments; `ranges` gets where each argument's name stands.
void checkArguments(StudyContext& context, const ast::WorkloadUse& use, NameMap<source::Range>& ranges) {
  Study& study = context.study;
  const Workload& workload = *study.workload;
  for (const Parameter& parameter : workload.parameters) study.arguments.push_back(parameter.fallback);
  for (const ast::CallArgument& argument : use.arguments) {
    if (!argument.name) {
      context.emitter().emit(argument.value->range, errors::TypeMismatch, "an argument of a workload", "'name = value'",
                             "a bare value");
      continue;
    }
    const ast::Identifier& name = *argument.name;
    int index = workload.findParameter(name.name);
    if (index < 0) {
      errors::unknownName(context.emitter(), name.range, "parameter", name.name, parameterNames(workload),
                          " of " + workload.name);
      continue;
    }
    if (auto [at, fresh] = ranges.emplace(name.name, name.range); !fresh) {
      errors::duplicateName(context.emitter(), name.range, "argument", name.name, at->second);
      continue;
    }
    const Parameter& parameter = workload.parameters[index];
    std::string what = fmt::format("'{}'", parameter.name);
    auto value = context.expressions().constant(*argument.value, context.place(), parameter.type, what);
    if (value &&
        context.expressions().allows(*value, argument.value->range, parameter.type, parameter.refinement, what))
      study.arguments[index] = std::move(value);
  }
}

void checkLevels(StudyContext& context, const ast::FactorDecl& declaration, Factor& factor,
                 const Parameter& parameter) {
  std::string what = fmt::format("a level of '{}'", factor.name);
  Place place = context.place();
  auto levels = context.expressions().levels(*declaration.levels, place, parameter.type, what);
  if (!levels) return;
  factor.declared = std::move(levels->declared);
  for (Level& level : levels->levels) {
    auto same = std::find_if(factor.levels.begin(), factor.levels.end(),
                             [&](const Level& known) { return known.value == level.value; });
    if (same != factor.levels.end()) {
      context.emitter()
          .build(level.range, DuplicateLevel, level.label, factor.name)
          .note(same->range, "the first one is here")
          .emit();
      continue;
    }
    // A range is refused once, not for each of its values.
    if (!context.expressions().allows(level.value, level.range, parameter.type, parameter.refinement, what)) {
      factor.levels.clear();
      return;
    }
    factor.levels.push_back(std::move(level));
  }
  if (!declaration.baseline) return;
  auto baseline = context.expressions().constant(*declaration.baseline, place, parameter.type,
                                                 fmt::format("the baseline of '{}'", factor.name));
  if (!baseline) return;
  for (size_t i = 0; i < factor.levels.size(); ++i)
    if (factor.levels[i].value == *baseline) factor.baseline = static_cast<unsigned>(i);
  if (factor.baseline) return;
  context.emitter()
      .build(declaration.baseline->range, BaselineNotLevel, baseline->toString(), factor.name)
      .note(declaration.levels->range, "its levels are here")
      .emit();
}

void checkFactor(StudyContext& context, const ast::FactorDecl& declaration, const NameMap<source::Range>& arguments) {
  Study& study = context.study;
  const ast::Identifier& name = declaration.name;
  int index = study.workload->findParameter(name.name);
  if (index < 0) {
    errors::unknownName(context.emitter(), name.range, "parameter", name.name, parameterNames(*study.workload),
                        " of " + study.workload->name);
    return;
  }
  if (int first = study.findFactor(name.name); first >= 0)
    return errors::duplicateName(context.emitter(), name.range, "factor", name.name, study.factors[first].range);
  if (auto argument = arguments.find(name.name); argument != arguments.end())
    context.emitter()
        .build(name.range, FactorIsArgument, name.name)
        .note(argument->second, "it is fixed here; a factor varies, an argument does not")
        .emit();
  if (study.factors.size() == kMaxFactors) {
    context.emitter().emit(name.range, errors::NotSupported,
                           fmt::format("a study with more than {} factors", kMaxFactors));
    return;
  }
  const Parameter& parameter = study.workload->parameters[index];
  if (declaration.when || parameter.when)
    context.emitter().emit(name.range, errors::NotSupported, "a factor that is active only under a condition");
  Factor factor;
  factor.name = name.name;
  factor.parameter = static_cast<unsigned>(index);
  factor.range = name.range;
  checkLevels(context, declaration, factor, parameter);
  study.factor_of[index] = static_cast<int>(study.factors.size());
  study.factors.push_back(std::move(factor));
}

void checkRules(StudyContext& context) {
  Study& study = context.study;
  study.rules = study.workload->rules;
  NameMap<source::Range> names;
  for (const ast::RuleDecl& declaration : context.declaration->rules) {
    if (declaration.name) {
      auto [at, fresh] = names.emplace(declaration.name->name, declaration.name->range);
      if (!fresh)
        errors::duplicateName(context.emitter(), declaration.name->range, "rule", declaration.name->name, at->second);
    }
    if (auto rule = checkRule(context.context, declaration, context.place(true)))
      study.rules.push_back(std::move(*rule));
  }
}

void checkAllArgumentsThere(StudyContext& context, const ast::WorkloadUse& use) {
  const Study& study = context.study;
  std::vector<std::string> missing;
  for (size_t i = 0; i < study.arguments.size(); ++i) {
    const Parameter& parameter = study.workload->parameters[i];
    bool given = std::any_of(use.arguments.begin(), use.arguments.end(), [&](const auto& argument) {
      return argument.name && argument.name->name == parameter.name;
    });
    if (!study.arguments[i] && !given && study.factor_of[i] < 0 && !parameter.type.isError())
      missing.push_back(fmt::format("'{}'", parameter.name));
  }
  if (missing.empty()) return;
  context.emitter()
      .build(use.name.range, MissingArgument, study.workload->name, errors::list(missing))
      .note(study.workload->range, "the workload is declared here; what has no default must be an argument or a factor")
      .emit();
}

void checkPresets(StudyContext& context) {
  for (const ast::PresetDecl& declaration : context.declaration->presets) {
    if (const Change* first = context.study.findPreset(declaration.name.name)) {
      errors::duplicateName(context.emitter(), declaration.name.range, "preset", declaration.name.name, first->range);
      continue;
    }
    if (auto preset = checkPreset(context, declaration, false)) context.study.presets.push_back(std::move(*preset));
  }
}

void checkCriteria(StudyContext& context) {
  for (const ast::CriterionDecl& declaration : context.declaration->criteria) {
    auto [at, fresh] = context.criterion_ranges.emplace(declaration.name.name, declaration.name.range);
    if (!fresh)
      errors::duplicateName(context.emitter(), declaration.name.range, "criterion", declaration.name.name, at->second);
    if (auto criterion = checkCriterion(context, declaration)) context.study.criteria.push_back(std::move(*criterion));
  }
}

}  // namespace

std::vector<std::string> StudyContext::factorNames() const {
  std::vector<std::string> names;
  for (const Factor& factor : study.factors) names.push_back(factor.name);
  return names;
}

std::vector<std::string> StudyContext::subjectNames() const {
  std::vector<std::string> names;
  for (const Comparison& comparison : study.comparisons) names.push_back(comparison.name);
  for (const Metric& metric : study.workload->metrics) names.push_back(metric.name);
  return names;
}

int StudyContext::factor(const ast::Identifier& name) {
  if (int index = study.findFactor(name.name); index >= 0) return index;
  if (study.workload->findParameter(name.name) >= 0) {
    emitter()
        .build(name.range, errors::UnknownName, "factor", name.name, "")
        .note({}, "it is a parameter that this study does not vary")
        .emit();
  } else {
    errors::unknownName(emitter(), name.range, "factor", name.name, factorNames());
  }
  return -1;
}

std::unique_ptr<Study> checkStudy(Context& context, ModuleScope& scope, const ast::StudyDecl& declaration) {
  size_t errors_before = context.emitter.errors();
  auto study = std::make_unique<Study>();
  study->name = declaration.name.name;
  study->doc = declaration.doc;
  study->range = declaration.name.range;
  study->valid = false;
  if (declaration.workloads.empty()) {
    context.emitter.build(declaration.name.range, NoWorkload, study->name)
        .note({}, "write 'workload image.mobilenet_v2(…)' in it")
        .emit();
    return study;
  }
  if (declaration.workloads.size() > 1) {
    context.emitter.emit(declaration.workloads[1].range, errors::NotSupported, "a study with several workloads");
    return study;
  }
  const ast::WorkloadUse& use = declaration.workloads[0];
  study->workload = findWorkload(context, scope, use.name);
  if (!study->workload) return study;
  study->factor_of.assign(study->workload->parameters.size(), -1);

  StudyContext inside{context, scope, &declaration, *study, {}, {}};
  for (const ast::LetDecl& let : declaration.lets) {
    auto [at, fresh] = inside.lets.emplace(let.name.name, LetEntry{&let, LetEntry::State::New, nullptr});
    if (!fresh)
      errors::duplicateName(context.emitter, let.name.range, "let", let.name.name, at->second.declaration->name.range);
  }
  for (const ast::MetricDecl& metric : declaration.metrics)
    context.emitter.emit(metric.name.range, errors::NotSupported, "a derived metric");
  if (!declaration.metrics.empty()) return study;
  // Lets of a study may read parameters; a level or an argument that uses such a let is reported as not constant.
  for (auto& [name, entry] : inside.lets) context.expressions.resolveLet(entry, inside.place());
  NameMap<source::Range> arguments;
  checkArguments(inside, use, arguments);
  for (const ast::FactorDecl& factor : declaration.factors) checkFactor(inside, factor, arguments);
  checkAllArgumentsThere(inside, use);
  checkRules(inside);
  checkComparisons(inside);
  checkCriteria(inside);
  study->design = checkDesign(inside, declaration.designs, false);
  checkOutputs(inside);
  checkMeasures(inside);
  checkPresets(inside);
  checkDesignCovers(inside);
  study->valid = study->workload->valid && context.emitter.errors() == errors_before;
  return study;
}

int Study::findFactor(std::string_view wanted) const {
  for (size_t i = 0; i < factors.size(); ++i)
    if (factors[i].name == wanted) return static_cast<int>(i);
  return -1;
}

int Study::findComparison(std::string_view wanted) const {
  for (size_t i = 0; i < comparisons.size(); ++i)
    if (comparisons[i].name == wanted) return static_cast<int>(i);
  return -1;
}

const Change* Study::findPreset(std::string_view wanted) const {
  for (const Change& preset : presets)
    if (preset.name == wanted) return &preset;
  return nullptr;
}

std::vector<unsigned> Study::measuredWith(const std::vector<const Criterion*>& chosen) const {
  std::vector<unsigned> result = measured;
  for (const Criterion* criterion : chosen)
    if (std::find(result.begin(), result.end(), criterion->metric) == result.end()) result.push_back(criterion->metric);
  return result;
}

}  // namespace expc::check
