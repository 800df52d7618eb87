// Places where an expression must be constant (arguments, levels, defaults, bounds), the sets of levels that an
// expression denotes, and small helpers for words and texts.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "compiler/check/expression.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(RangeEndMissed, "the range ends at {0}: no step reaches {1}");
EXPC_DIAGNOSTIC(NotConstant, "{0} must be constant");

// Limit on the levels of one factor.
constexpr size_t kMaxLevels = 10000;

}  // namespace

bool Refinement::allows(const Value& value) const {
  // A set wins over a range. A range that cannot be computed exactly allows nothing.
  if (!set.empty()) return is_contained(set, value);
  const Rational* number = value.asNumber();
  if (!number || !lower) return true;
  return liesInRange(*number, *lower, upper ? &*upper : nullptr, step ? &*step : nullptr, geometric).value_or(false);
}

bool Context::allows(const Value& value, source::Range range, const Type& type,
                     const std::optional<Refinement>& refinement, std::string_view what) {
  const Rational* number = value.asNumber();
  if (type.isNumber() && type.whole && number && !number->isInteger())
    return emitter.emit(range, TypeMismatch, what, "a whole number", number->toString());
  if (!refinement || refinement->allows(value)) return true;
  return emitter.emit(range, OutOfRange, what, value.toString(), "in " + refinement->text)
      .note(refinement->range, "the allowed values are declared here");
}

bool Context::positive(const Value& value, source::Range range, std::string_view what) {
  const auto* number = std::get_if<Value::Number>(&value.node);
  if (!number || number->value.sign() > 0) return true;
  const std::string least = Value::number(0, number->dimension).toString();
  return emitter.emit(range, OutOfRange, what, value.toString(), "above " + least);
}

FormulaPtr Context::asNumber(FormulaPtr formula, const Type& wanted) {
  // Convert constants only: a computed share keeps its type, so that mixing it with numbers is reported.
  const bool share = formula->isConstant() && formula->type.dimension == Dimension::share();
  if (!share || !wanted.isNumber() || wanted.whole || !wanted.dimension.isPlain()) return formula;
  return constantOf(Value::number(*formula->constant.asNumber()), Type::number(), formula->range);
}

bool Context::fits(const Formula& formula, const Type& type, std::string_view what) {
  if (!formula.type.agreesWith(type)) {
    mismatch(formula.range, what, type, formula.type);
    return false;
  }
  // Whether a computed `int` is whole is known only at a point.
  return !formula.isConstant() || allows(formula.constant, formula.range, type, std::nullopt, what);
}

std::optional<Value> Context::valueOf(const Formula& formula, std::string_view what) {
  if (formula.isConstant()) return formula.constant;
  return emitter.emit(formula.range, NotConstant, what);
}

std::optional<Value> Context::constant(const ast::Expr& expr, const ExpressionScope& place, const Type& expected,
                                       std::string_view what, const std::optional<Refinement>& allowed) {
  FormulaPtr formula = asNumber(build(expr, place, &expected), expected);
  // An expected Error comes from a type that was refused; the value cannot be judged, but its names were looked
  // up.
  if (formula->type.isError() || expected.isError() || !fits(*formula, expected, what)) return std::nullopt;
  const auto value = valueOf(*formula, what);
  return value && allows(*value, expr.range, expected, allowed, what) ? value : std::nullopt;
}

std::optional<Value> Context::number(const ast::Expr& expr, const ExpressionScope& place, std::string_view what) {
  FormulaPtr formula = build(expr, place);
  if (formula->type.isError() || !want(*formula, Type::Kind::Number, what)) return std::nullopt;
  return valueOf(*formula, what);
}

std::optional<Context::Levels> Context::levels(const ast::Expr& expr, const ExpressionScope& place,
                                               const Type& expected, std::string_view what) {
  Levels result;
  const auto add = [&](const ast::Expr& element, bool as_written) {
    auto value = constant(element, place, expected, what);
    if (!value) return false;
    // A label is the text as written, except that computed numbers show their value.
    std::string label = as_written || !value->asNumber() ? written(element.range) : value->toString();
    result.levels.push_back({{std::move(*value)}, label, element.range});
    result.declared.push_back(std::move(label));
    return true;
  };
  // Where the type is that of lists, a list is one value.
  const auto* members = membersOf(expr);
  if (members && !(expr.as<ast::ListExpr>() && expected.kind == Type::Kind::List)) {
    bool good = true;
    // A literal keeps the unit in which it was written (1GiB); anything computed shows its value.
    for (const ast::ExprPtr& element : *members) good &= add(*element, element->as<ast::NumberLiteral>());
    if (!good) return std::nullopt;
  } else if (auto* range = expr.as<ast::RangeExpr>()) {
    auto lower = constant(*range->lower, place, expected, what);
    auto upper = range->upper ? constant(*range->upper, place, expected, what) : std::nullopt;
    // A geometric step is a plain factor.
    Type step_type = range->geometric ? Type::number() : expected;
    auto step = range->step ? constant(*range->step, place, step_type, "the step") : std::nullopt;
    if (!lower || (range->upper && !upper) || (range->step && !step)) return std::nullopt;
    if (!lower->asNumber())
      return emitter.emit(expr.range, TypeMismatch, what, fmt::format("of type {}", expected.name()),
                          "a range of numbers");
    auto values = enumerateRange(*lower, upper ? &*upper : nullptr, step ? &*step : nullptr, range->geometric,
                                 expr.range, kMaxLevels, emitter);
    if (!values) return std::nullopt;
    if (upper && values->back() != *upper)
      emitter.emit(range->upper->range, RangeEndMissed, values->back().toString(), upper->toString());
    // `declared` gets the range as one text; each level gets its value as a label.
    for (Value& value : *values) {
      if (!allows(value, expr.range, expected, std::nullopt, what)) return std::nullopt;
      std::string label = value.toString();
      result.levels.push_back({{std::move(value)}, std::move(label), expr.range});
    }
    result.declared.push_back(written(expr.range));
  } else if (!add(expr, true)) {
    return std::nullopt;
  }
  return result;
}

const std::vector<ast::ExprPtr>* membersOf(const ast::Expr& expr) {
  if (auto* set = expr.as<ast::SetExpr>()) return &set->elements;
  auto* list = expr.as<ast::ListExpr>();
  return list && !list->elements.empty() ? &list->elements : nullptr;
}

const ast::Identifier* wordOf(const ast::Expr& expr) {
  auto* name = expr.as<ast::NameExpr>();
  return name && name->name.parts.size() == 1 ? &name->name.parts[0] : nullptr;
}

std::string joined(const ast::QualifiedName& name, size_t first) {
  std::string text;
  for (size_t i = first; i < name.parts.size(); ++i) text += (i > first ? "." : "") + name.parts[i].name;
  return text;
}

void replaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::string countedArguments(size_t count) {
  return count > 1 ? fmt::format("{} arguments", count) : count == 1 ? "one argument" : "no argument";
}

diag::Refusal seriesValue(diag::Emitter& emitter, source::Range range, const Metric& metric) {
  auto builder = emitter.emit(range, SeriesValue, metric.name, metric.distribution ? "distribution" : "series");
  if (metric.distribution)
    builder.note(metric.range,
                 "take one number of it, as in 'metric tail = p99({0})', or draw it with 'plot {0} over percentile'",
                 metric.name);
  else
    builder.note(metric.range, "read it with 'epochs_to({0} >= …)' or 'median({0})', or compare it with 'max_gap({0})'",
                 metric.name);
  return builder;
}

}  // namespace expc::check
