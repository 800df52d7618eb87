#include <charconv>

#include "compiler/diag/closest.h"
#include "compiler/parse/transform.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(UnknownTrait, Error,
                "'{0}' says nothing about a metric{1}; it may be lower or higher; timed, quality or profile; exact",
                std::string_view, std::string);
ast::Import Transform::importDecl(uint32_t index) {
  ast::Import out;
  out.range = range(index);
  const uint32_t target = children(index)[1];
  out.target_range = range(target);
  if (isRule(target, Rule::Text))
    out.target = ast::StringLiteral{string(target)};
  else
    out.target = qualifiedName(target);
  if (const uint32_t alias = child(index, Rule::Word); alias != kNone) out.alias = identifier(alias);
  return out;
}

ast::EnumDecl Transform::enumDecl(uint32_t index) {
  checkCommas(index, "the name of a level");
  ast::EnumDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.ordered = has(index, Token::Ordered);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t level : children(index, Rule::EnumLevel)) {
    checkCommas(level, "a type");
    ast::EnumLevel entry;
    entry.name = identifier(child(level, Rule::Word));
    for (uint32_t field : children(level, Rule::EnumField)) entry.fields.push_back(enumField(field));
    out.levels.push_back(std::move(entry));
  }
  return out;
}

/// `type` or `name : type`; the grammar reads a type in both places.
ast::EnumField Transform::enumField(uint32_t index) {
  const std::vector<uint32_t> types = children(index, Rule::RefinedType);
  ast::EnumField out;
  out.type = std::make_unique<ast::TypeExpr>(type(types.back()));
  if (types.size() == 1) return out;
  const ast::TypeExpr before = type(types[0]);
  if (before.name.parts.size() == 1 && before.per.empty() && !before.refinement)
    out.name = before.name.parts[0];
  else
    reporter_.syntaxError(before.range, "expected a single name before ':'");
  return out;
}

ast::LetDecl Transform::letDecl(uint32_t index) {
  return {range(index), doc(index), identifier(child(index, Rule::Word)), expression(child(index, Rule::Value))};
}

ast::WorkloadDecl Transform::workloadDecl(uint32_t index) {
  ast::WorkloadDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t item : children(child(index, Rule::WorkloadBody), Rule::WorkloadItem)) {
    if (broken(item) || broken(node(item).child)) continue;
    const uint32_t inner = node(item).child;
    switch (node(inner).rule) {
      case Rule::VersionDecl:
        versionDecl(inner, out);
        break;
      case Rule::ParamDecl:
        out.params.push_back(paramDecl(inner));
        break;
      case Rule::MetricDecl:
        out.metrics.push_back(metricDecl(inner));
        break;
      case Rule::RuleDecl:
        out.rules.push_back(ruleDecl(inner));
        break;
      default:
        break;
    }
  }
  return out;
}

void Transform::versionDecl(uint32_t index, ast::WorkloadDecl& workload) {
  if (workload.version) {
    duplicate(index, "the version", workload.version_range);
    return;
  }
  const uint32_t literal = child(index, Rule::Number);
  const std::string_view written = text(literal);
  int version = 0;
  auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), version);
  if (error != std::errc() || end != written.data() + written.size()) {
    reporter_.syntaxError(range(literal), fmt::format("expected a whole number after 'version', found '{}'", written));
    return;
  }
  workload.version = version;
  workload.version_range = range(index);
}

ast::ParamDecl Transform::paramDecl(uint32_t index) {
  ast::ParamDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  out.type = type(child(index, Rule::RefinedType));
  if (const uint32_t value = child(index, Rule::Value); value != kNone) out.default_value = expression(value);
  if (const uint32_t when = child(index, Rule::Condition); when != kNone) out.when = expression(when);
  return out;
}

ast::MetricDecl Transform::metricDecl(uint32_t index) {
  ast::MetricDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  if (const uint32_t of = child(index, Rule::RefinedType); of != kNone) out.type = type(of);
  if (const uint32_t value = child(index, Rule::Value); value != kNone) out.derived = expression(value);
  for (uint32_t trait : children(index, Rule::MetricTrait)) metricTrait(trait, out);
  return out;
}

void Transform::metricTrait(uint32_t index, ast::MetricDecl& metric) {
  const std::string_view word = text(index);
  if (word == "lower" || word == "higher") {
    if (metric.direction) return duplicate(index, "the direction", metric.direction->range);
    metric.direction = identifier(index);
  } else if (word == "timed" || word == "quality" || word == "profile") {
    if (metric.kind) return duplicate(index, "the kind of trial", metric.kind->range);
    metric.kind = identifier(index);
  } else if (word == "exact") {
    metric.exact = true;
  } else if (diag::Emitter* emitter = reporter_.next(node(index).begin)) {
    const auto near = diag::closest(word, {"lower", "higher", "timed", "quality", "profile", "exact"});
    emitter->emit(range(index), UnknownTrait, word, near ? fmt::format(" (did you mean '{}'?)", *near) : "");
  }
}

ast::RuleDecl Transform::ruleDecl(uint32_t index) {
  ast::RuleDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.kind = has(index, Token::Require) ? ast::RuleKind::Require : ast::RuleKind::Exclude;
  const std::vector<uint32_t> conditions = children(index, Rule::Condition);
  if (conditions.size() == 2) out.name = asName(*expression(conditions[0]), ":");
  out.condition = expression(conditions.back());
  if (const uint32_t because = child(index, Rule::Text); because != kNone) out.because = string(because);
  return out;
}

/// `index` is a type or a refinedType.
ast::TypeExpr Transform::type(uint32_t index) {
  ast::TypeExpr out;
  out.range = range(index);
  const uint32_t plain = isRule(index, Rule::Type) ? index : child(index, Rule::Type);
  const std::vector<uint32_t> names = children(plain, Rule::Name);
  out.name = qualifiedName(names[0]);
  for (size_t at = 1; at < names.size(); ++at) out.per.push_back(identifier(names[at]));
  if (const uint32_t within = child(index, Rule::Refinement); within != kNone) out.refinement = expression(within);
  return out;
}

}  // namespace expc::parse
