#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(WrongArguments, Error, "'{0}' takes {1}, not {2}", std::string_view, std::string_view, std::string);
EXPC_DIAGNOSTIC(CompareWithoutBaseline, Error, "'{0}' compares over '{1}', which has no baseline", std::string_view,
                std::string_view);
EXPC_DIAGNOSTIC(CompareOverNonFactor, Error, "'{0}' compares over '{1}', which is no factor", std::string_view,
                std::string_view);
EXPC_DIAGNOSTIC(EfficiencyOfNonRate, Error, "efficiency takes a rate, but '{0}' is of type {1}", std::string_view,
                std::string);
EXPC_DIAGNOSTIC(EfficiencyOverNonNumber, Error, "efficiency needs levels that count something, but {0}", std::string);
EXPC_DIAGNOSTIC(RatioOfNonPositive, Error, "'{0}' can be zero or negative, so a ratio of it means nothing",
                std::string_view);

using Function = Comparison::Function;

const std::vector<std::pair<std::string_view, Function>> kFunctions = {{"speedup", Function::Speedup},
                                                                       {"ratio", Function::Ratio},
                                                                       {"difference", Function::Difference},
                                                                       {"efficiency", Function::Efficiency}};

std::optional<Function> findFunction(StudyContext& context, const ast::QualifiedName& callee) {
  const ast::Identifier& last = callee.parts.back();
  std::vector<std::string> names;
  for (const auto& [name, function] : kFunctions) {
    if (callee.parts.size() == 1 && name == last.name) return function;
    names.emplace_back(name);
  }
  errors::unknownName(context.emitter(), last.range, "comparison function", last.name, names);
  return std::nullopt;
}

/// The metric in `speedup(metric)`, or -1 after a report.
int metricOf(StudyContext& context, const ast::CompareDecl& declaration) {
  const ast::CallExpr& call = declaration.call;
  std::string_view function = call.callee.parts.back().name;
  if (call.arguments.size() != 1 || call.arguments[0].name) {
    context.emitter().emit(declaration.call_range, WrongArguments, function, "one metric",
                           call.arguments.size() == 1 ? "a named argument" : std::to_string(call.arguments.size()));
    return -1;
  }
  const ast::Expr& argument = *call.arguments[0].value;
  auto* name = std::get_if<ast::NameExpr>(&argument.node);
  if (!name || name->name.parts.size() != 1) {
    context.emitter().emit(argument.range, WrongArguments, function, "one metric", "an expression");
    return -1;
  }
  const ast::Identifier& word = name->name.parts[0];
  int metric = context.study.workload->findMetric(word.name);
  if (metric >= 0) return metric;
  if (context.study.findComparison(word.name) >= 0) {
    context.emitter().emit(word.range, errors::NotSupported, "a comparison of a comparison");
    return -1;
  }
  std::vector<std::string> names;
  for (const Metric& known : context.study.workload->metrics) names.push_back(known.name);
  errors::unknownName(context.emitter(), word.range, "metric", word.name, names);
  return -1;
}

/// Sets what the treated points are compared with.
bool resolveAgainst(StudyContext& context, const ast::CompareDecl& declaration, const Factor& factor,
                    Comparison& comparison) {
  if (!declaration.against) {
    if (factor.baseline) {
      comparison.against = *factor.baseline;
      return true;
    }
    context.emitter()
        .build(declaration.over.range, CompareWithoutBaseline, comparison.name, factor.name)
        .note(factor.range, "give the factor a 'baseline', or the comparison 'against' a level")
        .emit();
    return false;
  }
  const Parameter& parameter = context.study.workload->parameters[factor.parameter];
  auto* name = std::get_if<ast::NameExpr>(&declaration.against->node);
  bool is_level = parameter.type.kind == Type::Kind::Enum && parameter.type.enumeration->find("previous") >= 0;
  if (name && name->name.parts.size() == 1 && name->name.parts[0].name == "previous" && !is_level) {
    comparison.previous = true;
    return true;
  }
  auto value = context.expressions().constant(*declaration.against, context.place(), parameter.type,
                                              "the level after 'against'");
  if (!value) return false;
  for (size_t i = 0; i < factor.levels.size(); ++i) {
    if (!(factor.levels[i].value == *value)) continue;
    comparison.against = static_cast<unsigned>(i);
    return true;
  }
  std::vector<std::string> labels;
  for (const Level& level : factor.levels) labels.push_back(level.label);
  errors::unknownName(context.emitter(), declaration.against->range, "level",
                      squeeze(context.context.sources.text(declaration.against->range)), labels,
                      fmt::format(" of '{}'", factor.name));
  return false;
}

bool checkEfficiency(StudyContext& context, const ast::CompareDecl& declaration, const Metric& metric,
                     const Factor& factor) {
  bool good = true;
  source::Range argument = declaration.call.arguments[0].value->range;
  if (!metric.dimension.isRate()) {
    auto builder = context.emitter().build(argument, EfficiencyOfNonRate, metric.name, metric.dimension.typeName());
    for (const Metric& other : context.study.workload->metrics)
      if (other.dimension.isRate()) {
        builder.note(other.range, "'{}' is a rate", other.name);
        break;
      }
    builder.emit();
    good = false;
  }
  for (const Level& level : factor.levels) {
    const Rational* number = level.value.asNumber();
    if (number && number->sign() > 0) continue;
    context.emitter()
        .build(declaration.over.range, EfficiencyOverNonNumber,
               fmt::format("{} of '{}' is {}", level.label, factor.name, number ? "not above zero" : "no number"))
        .note(factor.range, "the factor is declared here")
        .emit();
    return false;
  }
  return good;
}

bool canBeNonPositive(const Metric& metric) {
  if (!metric.refinement) return false;
  for (const Value& value : metric.refinement->set)
    if (value.asNumber()->sign() <= 0) return true;
  return metric.refinement->lower && metric.refinement->lower->sign() <= 0;
}

void checkComparison(StudyContext& context, const ast::CompareDecl& declaration) {
  Study& study = context.study;
  Comparison comparison;
  comparison.name = declaration.name.name;
  comparison.range = declaration.name.range;
  if (int metric = study.workload->findMetric(comparison.name); metric >= 0)
    errors::duplicateName(context.emitter(), comparison.range, "metric or comparison", comparison.name,
                          study.workload->metrics[metric].range);
  if (int first = study.findComparison(comparison.name); first >= 0)
    return errors::duplicateName(context.emitter(), comparison.range, "comparison", comparison.name,
                                 study.comparisons[first].range);
  auto function = findFunction(context, declaration.call.callee);
  int metric = metricOf(context, declaration);
  int over = study.findFactor(declaration.over.name);
  if (over < 0) {
    auto builder =
        context.emitter().build(declaration.over.range, CompareOverNonFactor, comparison.name, declaration.over.name);
    std::vector<std::string> names = context.factorNames();
    if (!names.empty()) builder.note({}, "the factors are {}", errors::list(names));
    builder.emit();
  }
  if (!function || metric < 0 || over < 0) return;
  comparison.function = *function;
  comparison.metric = static_cast<unsigned>(metric);
  comparison.over = static_cast<unsigned>(over);
  const Factor& factor = study.factors[over];
  const Metric& measured = study.workload->metrics[metric];
  if (factor.levels.empty()) return;  // reported there
  if (!resolveAgainst(context, declaration, factor, comparison)) return;
  if (*function == Function::Efficiency && !checkEfficiency(context, declaration, measured, factor)) return;
  if (*function != Function::Difference && canBeNonPositive(measured)) {
    context.emitter()
        .build(declaration.call.arguments[0].value->range, RatioOfNonPositive, measured.name)
        .note(measured.refinement->range, "its values are declared here; 'difference' compares such values")
        .emit();
    return;
  }
  std::string against = comparison.previous ? "previous" : factor.levels[comparison.against].label;
  comparison.text = fmt::format("{} over {} against {}", squeeze(context.context.sources.text(declaration.call_range)),
                                factor.name, against);
  study.comparisons.push_back(std::move(comparison));
}

}  // namespace

void checkComparisons(StudyContext& context) {
  for (const ast::CompareDecl& declaration : context.declaration->compares) checkComparison(context, declaration);
}

}  // namespace expc::check
