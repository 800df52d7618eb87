// What a module declares: enums, lets, workloads.

#include <cassert>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MisplacedWhen, Error, "'when' may only ask about parameters declared before '{0}'", std::string_view);
EXPC_DIAGNOSTIC(IncompleteMetric, Error, "the metric '{0}' {1}", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(BadVersion, Error, "a workload's version is a whole number from 1, not {0}", int);

std::optional<Type> simpleType(std::string_view name) {
  if (name == "bool") return Type::boolean();
  if (name == "int") return Type::integer();
  if (name == "float") return Type::number();
  if (name == "string") return Type::string();
  if (name == "path") return Type::path();
  if (auto dimension = findDimension(name)) return Type::number(*dimension);
  return std::nullopt;
}

std::vector<std::string> typeNames(const ModuleScope& scope) {
  std::vector<std::string> names = {"bool", "int", "float", "string", "path"};
  for (std::string_view name : dimensionNames()) names.emplace_back(name);
  for (const auto& [name, type] : scope.enums) names.push_back(name);
  return names;
}

Type namedType(Context& context, const ast::QualifiedName& name, const ModuleScope& scope) {
  const ast::Identifier& last = name.parts.back();
  const ModuleScope* where = &scope;
  if (name.parts.size() == 2) {
    auto module = scope.imports.find(name.parts[0].name);
    if (module == scope.imports.end()) {
      unknownModule(context.emitter, name.parts[0], scope);
      return Type::error();
    }
    if (!module->second) return Type::error();
    where = module->second;
  } else if (auto simple = simpleType(last.name); simple && name.parts.size() == 1) {
    return *simple;
  }
  if (name.parts.size() <= 2)
    if (auto found = where->enums.find(last.name); found != where->enums.end()) return Type::of(*found->second);
  errors::unknownName(context.emitter, last.range, "type", last.name, typeNames(*where));
  return Type::error();
}

/// The range or set after a type's `in`.
std::optional<Refinement> refinement(Context& context, const ast::Expr& expr, const Type& type, ModuleScope& scope) {
  Refinement result;
  result.range = expr.range;
  result.text = squeeze(context.sources.text(expr.range));
  Place place{&scope};
  auto bound = [&](const ast::ExprPtr& part, const Type& expected) -> std::optional<Rational> {
    if (!part) return std::nullopt;
    auto value = context.expressions.constant(*part, place, expected, "a bound of the type");
    return value && value->asNumber() ? std::optional<Rational>(*value->asNumber()) : std::nullopt;
  };
  if (auto* range = std::get_if<ast::RangeExpr>(&expr.node)) {
    if (type.kind != Type::Kind::Number) {
      context.emitter.emit(expr.range, errors::TypeMismatch, "a type with a range", "a number", type.name());
      return std::nullopt;
    }
    result.lower = bound(range->lower, type);
    result.upper = bound(range->upper, type);
    result.step = bound(range->step, range->geometric ? Type::number() : type);
    result.geometric = range->geometric;
    bool advances = !result.step || (range->geometric ? Rational(1) < *result.step : Rational(0) < *result.step);
    bool complete = result.lower && (!range->upper || result.upper) && (!range->step || result.step);
    if (!complete) return std::nullopt;
    // The same rules as for levels, and reported in the same words.
    if (!advances || (result.upper && *result.upper < *result.lower) ||
        (range->geometric && result.lower->sign() <= 0)) {
      Value lower = Value::number(*result.lower, type.dimension);
      Value upper = Value::number(result.upper ? *result.upper : *result.lower, type.dimension);
      Value step = Value::number(result.step ? *result.step : Rational(1), type.dimension);
      enumerateRange(lower, &upper, &step, range->geometric, expr.range, SIZE_MAX, context.emitter);
      return std::nullopt;
    }
    return result;
  }
  auto levels = context.expressions.levels(expr, place, type, "the allowed values");
  if (!levels) return std::nullopt;
  for (Level& level : levels->levels) result.set.push_back(std::move(level.value));
  return result;
}

void declareEnums(Context& context, ModuleScope& scope) {
  std::vector<std::pair<const ast::EnumDecl*, EnumType*>> fresh;
  for (const ast::EnumDecl& declaration : scope.ast->enums) {
    auto type = std::make_unique<EnumType>();
    type->name = declaration.name.name;
    type->ordered = declaration.ordered;
    type->range = declaration.name.range;
    auto [at, added] = scope.enums.emplace(type->name, type.get());
    if (!added) errors::duplicateName(context.emitter, declaration.name.range, "enum", type->name, at->second->range);
    fresh.emplace_back(&declaration, type.get());
    context.program.enums.push_back(std::move(type));
  }
  for (auto& [declaration, type] : fresh) {
    for (const ast::EnumLevel& level : declaration->levels) {
      if (int first = type->find(level.name.name); first >= 0) {
        errors::duplicateName(context.emitter, level.name.range, "level", level.name.name, type->levels[first].range);
        continue;
      }
      EnumType::Level added{level.name.name, {}, level.name.range};
      for (const ast::EnumField& field : level.fields)
        added.fields.push_back({field.name ? field.name->name : "", resolveType(context, *field.type, scope).type});
      type->levels.push_back(std::move(added));
    }
  }
}

Parameter checkParameter(Context& context, ModuleScope& scope, const ast::ParamDecl& declaration) {
  Parameter parameter;
  parameter.name = declaration.name.name;
  parameter.range = declaration.name.range;
  auto [type, allowed] = resolveType(context, declaration.type, scope);
  parameter.type = type;
  parameter.refinement = std::move(allowed);
  std::string what = fmt::format("the default of '{}'", parameter.name);
  if (declaration.default_value) {
    auto value = context.expressions.constant(*declaration.default_value, {&scope}, type, what);
    if (value && context.expressions.allows(*value, declaration.default_value->range, type, parameter.refinement, what))
      parameter.fallback = std::move(value);
    else
      parameter.type = Type::error();
  }
  return parameter;
}

/// `when` reads only what comes before, so that activity is decided in one pass.
void checkWhen(Context& context, ModuleScope& scope, const ast::ParamDecl& declaration, Workload& workload) {
  int index = workload.findParameter(declaration.name.name);
  FormulaPtr when =
      context.expressions.condition(*declaration.when, {&scope, &workload.parameters}, "the condition of 'when'");
  if (!when) return;
  std::vector<unsigned> read = parametersOf(*when);
  if (!read.empty() && static_cast<int>(read.back()) >= index) {
    context.emitter.build(when->range, MisplacedWhen, declaration.name.name)
        .note(workload.parameters[read.back()].range, "'{}' is declared here", workload.parameters[read.back()].name)
        .emit();
    return;
  }
  workload.parameters[index].when = std::move(when);
}

std::optional<Metric> checkMetric(Context& context, ModuleScope& scope, const ast::MetricDecl& declaration) {
  Metric metric;
  metric.name = declaration.name.name;
  metric.range = declaration.name.range;
  metric.exact = declaration.exact;
  auto incomplete = [&](std::string_view why) {
    context.emitter.emit(declaration.name.range, IncompleteMetric, metric.name, why);
    return std::nullopt;
  };
  if (declaration.derived) {
    context.emitter.emit(declaration.name.range, errors::NotSupported, "a derived metric");
    return std::nullopt;
  }
  if (!declaration.type) return incomplete("needs a type, as in ': Time'");
  if (!declaration.direction) return incomplete("must say which is better: 'lower' or 'higher'");
  auto [type, allowed] = resolveType(context, *declaration.type, scope);
  if (type.isError()) return std::nullopt;
  if (type.kind != Type::Kind::Number) return incomplete("must be a number or a quantity");
  metric.dimension = type.dimension;
  metric.refinement = std::move(allowed);
  metric.better = declaration.direction->name == "higher" ? Direction::Higher : Direction::Lower;
  if (declaration.kind) {
    const std::string& kind = declaration.kind->name;
    metric.kind = kind == "quality" ? TrialKind::Quality : kind == "profile" ? TrialKind::Profile : TrialKind::Timed;
  }
  return metric;
}

void declareWorkload(Context& context, ModuleScope& scope, const ast::WorkloadDecl& declaration) {
  auto workload = std::make_unique<Workload>();
  size_t errors_before = context.emitter.errors();
  workload->name = scope.prefix + declaration.name.name;
  workload->range = declaration.name.range;
  if (declaration.version) workload->version = *declaration.version;
  if (workload->version < 1) context.emitter.emit(declaration.version_range, BadVersion, workload->version);
  for (const ast::ParamDecl& param : declaration.params) {
    Parameter parameter = checkParameter(context, scope, param);
    if (int first = workload->findParameter(parameter.name); first >= 0) {
      errors::duplicateName(context.emitter, parameter.range, "parameter", parameter.name,
                            workload->parameters[first].range);
      continue;
    }
    workload->parameters.push_back(std::move(parameter));
  }
  for (const ast::ParamDecl& param : declaration.params)
    if (param.when) checkWhen(context, scope, param, *workload);
  for (const ast::MetricDecl& declared : declaration.metrics) {
    auto metric = checkMetric(context, scope, declared);
    if (!metric) continue;
    if (int first = workload->findMetric(metric->name); first >= 0) {
      errors::duplicateName(context.emitter, metric->range, "metric", metric->name, workload->metrics[first].range);
      continue;
    }
    workload->metrics.push_back(std::move(*metric));
  }
  for (const ast::RuleDecl& declared : declaration.rules) {
    auto rule = checkRule(context, declared, {&scope, &workload->parameters, nullptr, nullptr, true});
    if (!rule) continue;
    rule->of_workload = true;
    workload->rules.push_back(std::move(*rule));
  }
  auto [at, added] = scope.workloads.emplace(declaration.name.name, workload.get());
  if (!added)
    errors::duplicateName(context.emitter, declaration.name.range, "workload", declaration.name.name,
                          at->second->range);
  workload->valid = context.emitter.errors() == errors_before;
  context.program.workloads.push_back(std::move(workload));
}

}  // namespace

std::string_view toString(TrialKind kind) {
  return kind == TrialKind::Timed ? "timed" : kind == TrialKind::Quality ? "quality" : "profile";
}

int Workload::findParameter(std::string_view wanted) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == wanted) return static_cast<int>(i);
  return -1;
}

int Workload::findMetric(std::string_view wanted) const {
  for (size_t i = 0; i < metrics.size(); ++i)
    if (metrics[i].name == wanted) return static_cast<int>(i);
  return -1;
}

TypeAndRefinement resolveType(Context& context, const ast::TypeExpr& expr, ModuleScope& scope) {
  Type type = namedType(context, expr.name, scope);
  for (const ast::Identifier& divisor : expr.per) {
    Type below = simpleType(divisor.name).value_or(Type::error());
    if (below.isError()) {
      std::vector<std::string> names(dimensionNames().begin(), dimensionNames().end());
      errors::unknownName(context.emitter, divisor.range, "dimension", divisor.name, names);
      return {};
    }
    if (type.isError()) return {};
    auto quotient = type.kind == Type::Kind::Number && below.kind == Type::Kind::Number
                        ? type.dimension.over(below.dimension)
                        : std::nullopt;
    if (!quotient) {
      context.emitter.emit(expr.range, errors::TypeMismatch, "a rate", "a quotient of dimensions",
                           squeeze(context.sources.text(expr.range)));
      return {};
    }
    type = Type::number(*quotient);
  }
  if (type.isError() || !expr.refinement) return {type, std::nullopt};
  auto allowed = refinement(context, *expr.refinement, type, scope);
  if (!allowed) return {};
  return {type, std::move(allowed)};
}

std::optional<Rule> checkRule(Context& context, const ast::RuleDecl& declaration, Place place) {
  place.system = true;
  bool require = declaration.kind == ast::RuleKind::Require;
  Rule rule;
  rule.kind = declaration.kind;
  rule.name = declaration.name ? declaration.name->name : "";
  rule.because = declaration.because.value_or("");
  rule.range = declaration.range;
  rule.condition = context.expressions.condition(*declaration.condition, place,
                                                 require ? "what 'require' asks" : "what 'exclude' leaves out");
  if (!rule.condition) return std::nullopt;
  rule.parameters = parametersOf(*rule.condition);
  return rule;
}

void declareModule(Context& context, ModuleScope& scope) {
  declareEnums(context, scope);
  for (const ast::LetDecl& declaration : scope.ast->lets) {
    auto [at, added] = scope.lets.emplace(declaration.name.name, LetEntry{&declaration, LetEntry::State::New, nullptr});
    if (!added)
      errors::duplicateName(context.emitter, declaration.name.range, "let", declaration.name.name,
                            at->second.declaration->name.range);
  }
  for (auto& [name, entry] : scope.lets) context.expressions.resolveLet(entry, {&scope});
  for (const ast::WorkloadDecl& declaration : scope.ast->workloads) declareWorkload(context, scope, declaration);
}

}  // namespace expc::check
