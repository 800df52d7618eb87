// The names in a study.

#include "compiler/lsp/resolver.h"

namespace expc::lsp {

void Resolver::study(const Scope& scope, const ast::StudyDecl& study) {
  const Place place{&scope, &study, nullptr, workloadsOf(scope, study), false};
  Place measured = place;
  measured.measured = true;
  for (const ast::WorkloadUse& use : study.workloads) workloadUse(use, place);
  for (const ast::FactorDecl& factor : study.factors) this->factor(factor, place);
  for (const ast::LetDecl& let : study.lets) expression(let.value.get(), place);
  for (const ast::RuleDecl& rule : study.rules) this->rule(rule, place);
  for (const ast::MetricDecl& metric : study.metrics) {
    if (metric.type) type(scope, *metric.type);
    expression(metric.derived.get(), measured);
  }
  for (const ast::MeasureDecl& measure : study.measures)
    for (const ast::Identifier& name : measure.metrics) metricName(name, place);
  for (const ast::CompareDecl& compare : study.compares) comparison(compare, place);
  for (const ast::ControlDecl& control : study.controls) selectors(control.selectors, place);
  for (const ast::CriterionDecl& criterion : study.criteria) this->criterion(criterion, place);
  for (const ast::DesignDecl& design : study.designs) this->design(design, place);
  for (const ast::TableDecl& table : study.tables) {
    subject(table.metric, place);
    for (const ast::Identifier& name : table.by) factorName(name, place);
  }
  for (const ast::PlotDecl& plot : study.plots) {
    subject(plot.subject, place);
    factorName(plot.over, place);
    for (const ast::Identifier& name : plot.by) factorName(name, place);
  }
  for (const ast::PresetDecl& preset : study.presets) this->preset(preset, place);
}

void Resolver::workloadUse(const ast::WorkloadUse& use, const Place& place) {
  const FoundWorkload found = findWorkload(*place.scope, use.name);
  qualifier(*place.scope, use.name);
  if (found.declaration) this->use(use.name.parts.back().range, found.declaration);
  for (const ast::CallArgument& argument : use.arguments) {
    const std::vector<FoundWorkload> own = found.declaration ? std::vector{found} : std::vector<FoundWorkload>{};
    Expected expected;
    if (argument.name)
      if (const FoundParameter param = findParameter(own, argument.name->name); param.declaration) {
        this->use(argument.name->range, param.declaration);
        expected.type = &param.declaration->type;
        expected.scope = param.scope;
      }
    expression(argument.value.get(), place, expected);
  }
}

void Resolver::factor(const ast::FactorDecl& factor, const Place& place) {
  for (const ast::Identifier& part : factor.parts) parameterName(part, place);
  if (factor.parts.empty()) parameterName(factor.name, place);
  const Expected expected = expectedOf(*place.scope, *place.study, place.workloads, factor.name.name);
  expression(factor.levels.get(), place, expected);
  expression(factor.baseline.get(), place, expected);
  expression(factor.when.get(), place);
}

void Resolver::comparison(const ast::CompareDecl& compare, const Place& place) {
  Place measured = place;
  measured.measured = true;
  for (const ast::CallArgument& argument : compare.call.arguments) expression(argument.value.get(), measured);
  factorName(compare.over, place);
  if (compare.against)
    expression(compare.against.get(), place,
               expectedOf(*place.scope, *place.study, place.workloads, compare.over.name));
}

void Resolver::criterion(const ast::CriterionDecl& criterion, const Place& place) {
  Place measured = place;
  measured.measured = true;
  for (const ast::Quantifier& quantifier : criterion.quantifiers) {
    for (const ast::Identifier& name : quantifier.factors) factorName(name, place);
    expression(quantifier.where.get(), place);
  }
  expression(criterion.subject.get(), measured);
  if (criterion.like && criterion.like->parts.size() == 1)
    use(criterion.like->range, findNamed(place.scope->ast->references, criterion.like->parts[0].name));
  expression(criterion.like_within.get(), place);
  expression(criterion.bound.get(), measured);
  expression(criterion.band_low.get(), measured);
  expression(criterion.band_high.get(), measured);
  expression(criterion.give.get(), place);
  expression(criterion.confidence.get(), place);
}

void Resolver::design(const ast::DesignDecl& design, const Place& place) {
  Place measured = place;
  measured.measured = true;
  const auto settings = [&](const std::vector<ast::DesignSetting>& all) {
    for (const ast::DesignSetting& setting : all) {
      if (setting.name.name != "order") expression(setting.value.get(), place);
      expression(setting.until.get(), measured);
    }
  };
  for (const ast::DesignKindBlock& kind : design.kinds) settings(kind.settings);
  settings(design.settings);
}

void Resolver::preset(const ast::PresetDecl& preset, const Place& place) {
  for (const ast::Assignment& assignment : preset.assignments) {
    Expected expected;
    if (assignment.target.parts.size() == 1) {
      parameterName(assignment.target.parts[0], place);
      expected = expectedOf(*place.scope, *place.study, place.workloads, assignment.target.parts[0].name);
    }
    expression(assignment.value.get(), place, expected);
  }
  for (const ast::OnlyClause& only : preset.only) {
    factorName(only.factor, place);
    expression(only.levels.get(), place, expectedOf(*place.scope, *place.study, place.workloads, only.factor.name));
  }
  for (const ast::CriteriaClause& clause : preset.claims)
    for (const ast::Identifier& name : clause.criteria) criterionName(name, place);
  for (const ast::DesignDecl& design : preset.designs) this->design(design, place);
  for (const ast::CriterionDecl& criterion : preset.criteria) this->criterion(criterion, place);
}

void Resolver::selectors(const std::vector<ast::CallArgument>& selectors, const Place& place) {
  for (const ast::CallArgument& selector : selectors) {
    Expected expected;
    if (selector.name && place.study) {
      factorName(*selector.name, place) || parameterName(*selector.name, place);
      expected = expectedOf(*place.scope, *place.study, place.workloads, selector.name->name);
    }
    expression(selector.value.get(), place, expected);
  }
}

bool Resolver::factorName(const ast::Identifier& name, const Place& place) {
  return place.study && use(name.range, findNamed(place.study->factors, name.name));
}

bool Resolver::parameterName(const ast::Identifier& name, const Place& place) {
  return use(name.range, findParameter(place.workloads, name.name).declaration);
}

bool Resolver::metricName(const ast::Identifier& name, const Place& place) {
  if (place.study && use(name.range, findNamed(place.study->metrics, name.name))) return true;
  for (const FoundWorkload& workload : place.workloads)
    for (const ast::MetricDecl* metric : metricsOf(workload))
      if (metric->name.name == name.name) return use(name.range, metric);
  return false;
}

bool Resolver::subject(const ast::Identifier& name, const Place& place) {
  if (place.study && use(name.range, findNamed(place.study->compares, name.name))) return true;
  return metricName(name, place);
}

bool Resolver::criterionName(const ast::Identifier& name, const Place& place) {
  if (!place.study) return false;
  if (use(name.range, findNamed(place.study->criteria, name.name))) return true;
  for (const ast::PresetDecl& preset : place.study->presets)
    if (use(name.range, findNamed(preset.criteria, name.name))) return true;
  return false;
}

}  // namespace expc::lsp
