// A study's frame: the order in which its parts are checked, rules, controls, presets.

#include <algorithm>
#include <cassert>

#include "compiler/check/checker.h"
#include "compiler/check/formula/order.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

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

void checkMetrics(StudyContext& context) {
  for (const ast::MetricDecl& declaration : context.declaration->metrics)
    if (!declaration.derived)
      context.emitter.build(declaration.name.range, errors::NotSupported, "a measured metric in a study")
          .note({}, "a workload declares what is measured; a study derives: 'metric share = launch_time / wall'")
          .emit();
  DerivedMetrics(context.context, context.declaration->metrics, context.study.metrics, context.place()).declareAll();
}

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
        level = context.level(*selector.value, *factor, "the level");
      good &= level.has_value();
      if (level) control.pins.push_back({*factor, *level});
    }
    if (good) context.study.controls.push_back(std::move(control));
  }
}

void checkPresets(StudyContext& context) {
  std::vector<const ast::PresetDecl*> all;
  for (const ast::PresetDecl& declaration : context.scope.ast->presets) all.push_back(&declaration);
  for (const ast::PresetDecl& declaration : context.declaration->presets) all.push_back(&declaration);
  for (const ast::PresetDecl* declaration : all) {
    if (!isFresh(context.emitter, "preset", declaration->name, context.study.presets)) continue;
    if (auto preset = checkPreset(context, *declaration, false)) context.study.presets.push_back(std::move(*preset));
  }
}

/// `confidence 95%` of the study, else of its file.
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
}

}  // namespace

diag::Refusal StudyScope::unknownSubject(const ast::Identifier& name, std::string_view what) {
  // A comparison where a metric is wanted is there, and was not refused.
  if (study.findComparison(name.name) < 0 && refused(name, {SymbolKind::Comparison, SymbolKind::Metric})) return {};
  for (const Use& use : study.uses) {
    const int metric = study.uses.size() > 1 ? use.workload->findMetric(name.name) : -1;
    if (metric < 0) continue;
    return emitter.build(name.range, diag::UnknownName, what, name.name, "")
        .note(use.workload->metrics[metric].range,
              "the workload '{}' has it, but a study measures only what all of its workloads have", use.label)
        .refuse();
  }
  return unknownName(emitter, what, name, namesOf(study.comparisons, study.metrics),
                     fmt::format(" of the study '{}'", study.name));
}

std::optional<Subject> StudyScope::subject(const ast::Identifier& word) {
  if (const int found = study.findComparison(word.name); found >= 0) {
    note(word, study.comparisons[found].range);
    return Subject{study.comparisons[found].metric, static_cast<unsigned>(found)};
  }
  if (const int found = study.findMetric(word.name); found >= 0) {
    note(word, study.metrics[found].range);
    return Subject{static_cast<unsigned>(found), std::nullopt};
  }
  return unknownSubject(word, "metric or comparison");
}

void StudyScope::declareLets() {
  for (const ast::LetDecl& let : declaration->lets)
    if (isFresh(emitter, "let", let.name, study.workload->parameters)) declareLet(emitter, "let", let, lets);
}

/// All of a study but its workloads. `before`: the number of problems when the study began.
static void checkParts(StudyContext& context, size_t before) {
  Study& study = context.study;
  study.factor_of.assign(study.workload->parameters.size(), -1);
  context.declareLets();
  // Lets of a study may read parameters; a level or an argument that uses such a let is reported as not constant.
  for (const ast::LetDecl& let : context.declaration->lets)
    if (const auto entry = context.lets.find(let.name.name); entry != context.lets.end())
      context.expressions().let(entry->second, context.place());
  checkAllArguments(context);
  checkFactors(context);
  checkNoArgumentMissing(context);
  checkRules(context);
  checkMetrics(context);
  checkComparisons(context);
  checkReferences(context);
  declareConfidence(context);
  checkCriteria(context);
  checkControls(context);
  const auto& designs = context.declaration->designs;
  study.design = checkDesign(context, designs.empty() ? context.scope.ast->designs : designs, false);
  checkOutputs(context);
  checkMeasures(context);
  checkPresets(context);
  checkDesignCovers(context, before);
}

std::unique_ptr<Study> checkStudy(Checking& context, ModuleScope& scope, const ast::StudyDecl& declaration) {
  const size_t before = context.problems();
  auto study = std::make_unique<Study>();
  study->name = declaration.name.name;
  study->doc = declaration.doc;
  study->range = declaration.name.range;
  study->declaration = &declaration;
  study->valid = false;
  if (StudyContext inside{{context, scope, &declaration, *study}, context, *study}; checkUses(inside)) {
    checkParts(inside, before);
    study->valid = study->workload->valid && context.problems() == before;
    return study;
  }
  // Without its workloads nothing of a study can be judged, but many of its names have a meaning.
  diag::Collector unread;
  diag::Emitter silent(unread);
  Checking quiet{{context.sources, silent, context.names}, context.program};
  StudyContext inside{{quiet, scope, &declaration, *study}, quiet, *study};
  standIn(inside);
  checkParts(inside, 0);
  return study;
}

int Study::findFactor(std::string_view wanted) const { return findNamed(factors, wanted); }
int Study::findMetric(std::string_view wanted) const { return findNamed(metrics, wanted); }
int Study::findComparison(std::string_view wanted) const { return findNamed(comparisons, wanted); }

const Change* Study::findPreset(std::string_view wanted) const { return named(presets, wanted); }

namespace {

/// Appends a metric after those that it reads, each once.
void want(const Study& study, unsigned metric, std::vector<unsigned>& result) {
  if (std::ranges::count(result, metric) > 0) return;
  if (study.metrics[metric].derived)
    for (unsigned read : metricsOf(*study.metrics[metric].derived)) want(study, read, result);
  result.push_back(metric);
}

}  // namespace

std::vector<unsigned> Study::measuredWith(const std::vector<const Criterion*>& chosen) const {
  std::vector<unsigned> result;
  for (unsigned metric : measured) want(*this, metric, result);
  for (const Criterion* criterion : chosen)
    if (criterion->metric) want(*this, *criterion->metric, result);
  return result;
}

}  // namespace expc::check
