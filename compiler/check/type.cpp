// Types as they are written in declarations: named types, enumerations, units as types of counts, rates such as
// `Images / Time`, composite types, and the range or set after `in`.

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "runtime/base/entry.h"

namespace expc::check {
namespace {

/// A built-in type; nothing for other names.
std::optional<Type> simpleType(std::string_view name) {
  if (name == "bool") return Type::boolean();
  if (name == "int") return Type::integer();
  if (name == "float") return Type::number();
  if (name == "string") return Type::string();
  if (name == "path") return Type::path();
  if (auto dimension = findDimension(name)) return Type::number(*dimension);
  return std::nullopt;
}

/// A base unit that a file declares (`unit row`) is the type of what is counted in it.
std::optional<Type> countedIn(Context& context, const ast::Identifier& name, ModuleScope& scope) {
  const auto unit = context.unit(name.name, scope);
  // A derived unit (`unit krow = 1000row`) names no type of its own.
  if (!unit || unit->dimension != Dimension::ofOwn(name.name)) return std::nullopt;
  if (const auto* declared = entryOf(scope.units, name.name))
    context.note(name.range, declared->declaration->name.range);
  return Type::number(unit->dimension);
}

/// The language's types that `find` accepts, as candidates for a misspelt name.
template <typename Find>
std::vector<std::string> typeNames(Find find) {
  std::vector<std::string> names = words::texts(words::Role::Type);
  std::erase_if(names, [&](const std::string& name) { return !find(name); });
  return names;
}

/// The type that is meant by a word of another language, in the singular or the plural, or by a unit: "Seconds" is
/// Time. "" if none is.
std::string typeMeantBy(StringRef name) {
  static constexpr std::pair<llvm::StringLiteral, const char*> kMeant[] = {
      {"second", "Time"},  {"duration", "Time"}, {"byte", "Bytes"},   {"percent", "Share"}, {"joule", "Energy"},
      {"watt", "Power"},   {"number", "float"},  {"double", "float"}, {"real", "float"},    {"integer", "int"},
      {"boolean", "bool"}, {"text", "string"},   {"str", "string"},   {"file", "path"}};
  StringRef one = name;
  one.consume_back("s");
  for (const auto& [word, type] : kMeant)
    if (one.equals_insensitive(word)) return type;
  const auto unit = findUnit(name.str());
  return unit ? unit->dimension.typeName() : "";
}

/// The type of a name, in this file or behind a module; Error after a report.
Type namedType(Context& context, const ast::QualifiedName& name, ModuleScope& scope) {
  const ast::Identifier& last = name.parts.back();
  // Built-in names win; enums and units may stand behind a module.
  if (auto simple = simpleType(last.name); simple && name.parts.size() == 1) return *simple;
  ModuleScope* where = context.scopeOf(name, scope);
  if (!where) return Type::error();
  if (const auto* found = entryOf(where->enums, last.name); found && name.parts.size() <= 2) {
    context.note(last.range, (*found)->range);
    return Type::of(**found);
  }
  if (name.parts.size() <= 2)
    if (auto counted = countedIn(context, last, *where)) return *counted;
  if (std::string meant = typeMeantBy(last.name); !meant.empty())
    context.emitter.emit(last.range, diag::UnknownName, "type", last.name, "").guess(last.range, std::move(meant));
  else
    unknownName(context.emitter, "type", last,
                [&] { return namesOf(typeNames(simpleType), where->enums, where->units)(); });
  return Type::error();
}

/// The range or set after a type's `in`; nothing after a report.
std::optional<Refinement> refinement(Context& context, const ast::Expr& expr, const Type& type, ModuleScope& scope) {
  Refinement result;
  result.range = expr.range;
  result.text = context.written(expr.range);
  ExpressionScope place{&scope};
  // A bound must be constant, and of the type that it bounds.
  auto bound = [&](const ast::ExprPtr& part, const Type& expected) -> std::optional<Rational> {
    if (!part) return std::nullopt;
    auto value = context.constant(*part, place, expected, "a bound of the type");
    return value && value->asNumber() ? std::optional<Rational>(*value->asNumber()) : std::nullopt;
  };
  if (auto* range = expr.as<ast::RangeExpr>()) {
    if (!type.isNumber())
      return context.emitter.emit(expr.range, TypeMismatch, "a type with a range", "a number", type.name());
    result.lower = bound(range->lower, type);
    result.upper = bound(range->upper, type);
    result.step = bound(range->step, range->geometric ? Type::number() : type);
    result.geometric = range->geometric;
    bool advances = !result.step || (range->geometric ? Rational(1) < *result.step : Rational(0) < *result.step);
    bool complete = result.lower && (!range->upper || result.upper) && (!range->step || result.step);
    if (!complete) return std::nullopt;
    // Let enumerateRange find the mistake, so that it is reported in the same words as for levels.
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
  // A set of allowed values is read as levels are, so that the same notation works.
  auto levels = context.levels(expr, place, type, "the allowed values");
  if (!levels) return std::nullopt;
  for (Level& level : levels->levels) result.set.push_back(std::move(level.values[0]));
  return result;
}

/// A type without its divisors and refinement.
Type shape(Context& context, const ast::TypeExpr& expr, ModuleScope& scope) {
  using Shape = ast::TypeExpr::Shape;
  if (expr.shape == Shape::Named) return namedType(context, expr.name, scope);
  std::vector<Type> parts;
  for (const ast::TypeExpr& part : expr.parts) {
    TypeAndRefinement resolved = resolveType(context, part, scope);
    if (resolved.type.isError()) return Type::error();
    // Refinements are kept beside the type of a parameter, so parts of a type cannot have one.
    if (part.refinement) {
      context.emitter.emit(part.refinement->range, NotSupported, "a range or set inside a type");
      return Type::error();
    }
    parts.push_back(std::move(resolved.type));
  }
  if (expr.shape == Shape::List) return Type::list(std::move(parts.at(0)));
  if (expr.shape == Shape::Tuple) return Type::tuple(std::move(parts));
  Once seen;
  for (const ast::Identifier& field : expr.fields) seen.add(context.emitter, "field", field);
  return Type::record(namesOf(expr.fields)(), std::move(parts));
}

}  // namespace

TypeAndRefinement resolveType(Context& context, const ast::TypeExpr& expr, ModuleScope& scope) {
  Type type = shape(context, expr, scope);
  // Divide by each dimension after a stroke; only numbers have a quotient.
  for (const ast::Identifier& divisor : expr.per) {
    auto below = simpleType(divisor.name);
    if (!below) below = countedIn(context, divisor, scope);
    if (!below) {
      unknownName(context.emitter, "dimension", divisor, typeNames(findDimension));
      return {};
    }
    if (type.isError()) return {};
    auto quotient = type.isNumber() && below->isNumber() ? type.dimension.over(below->dimension) : std::nullopt;
    if (!quotient) {
      context.emitter.emit(expr.range, TypeMismatch, "a rate", "a quotient of dimensions", context.written(expr.range));
      return {};
    }
    type = Type::number(*quotient);
  }
  if (type.isError() || !expr.refinement) return {type, std::nullopt};
  auto allowed = refinement(context, *expr.refinement, type, scope);
  if (!allowed) return {};
  return {type, std::move(allowed)};
}

}  // namespace expc::check
