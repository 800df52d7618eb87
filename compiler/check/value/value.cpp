// Comparison and names of types, and the text of values.

#include "compiler/check/value/value.h"

#include <algorithm>

#include "runtime/base/format.h"

namespace expc::check {

/// "a, b", each behind its name if the parts have names.
template <typename Part>
static std::string listed(const std::vector<Part>& parts, std::string (Part::*text)() const,
                          const std::vector<std::string>& names = {}, std::string_view between = "") {
  std::string result;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result += ", ";
    if (!names.empty()) result.append(names[i]).append(between);
    result += (parts[i].*text)();
  }
  return result;
}

bool Type::agreesWith(const Type& other) const {
  if (isError() || other.isError()) return true;
  // A path is written as a string, so the two agree.
  bool text = kind == Kind::String || kind == Kind::Path;
  bool other_text = other.kind == Kind::String || other.kind == Kind::Path;
  if (text && other_text) return true;
  if (kind != other.kind) return false;
  if (kind == Kind::Number) return dimension == other.dimension;
  // Composite types compare by structure, enumerations by identity.
  if (composite) {
    const CompositeType &mine = *composite, &theirs = *other.composite;
    if (mine.fields != theirs.fields || mine.parts.size() != theirs.parts.size()) return false;
    for (size_t i = 0; i < mine.parts.size(); ++i)
      if (!mine.parts[i].agreesWith(theirs.parts[i])) return false;
    return true;
  }
  return enumeration == other.enumeration;
}

std::string Type::name() const {
  if (kind == Kind::Number) return whole ? "int" : dimension.isPlain() ? "float" : dimension.typeName();
  if (kind == Kind::Enum) return enumeration->name;
  if (kind == Kind::List) return fmt::format("list({})", composite->parts[0].name());
  if (kind == Kind::Tuple) return "(" + listed(composite->parts, &Type::name) + ")";
  if (kind == Kind::Record) return "{ " + listed(composite->parts, &Type::name, composite->fields, " : ") + " }";
  return kind == Kind::Bool ? "bool" : kind == Kind::String ? "string" : kind == Kind::Path ? "path" : "?";
}

/// A composite type of these parts.
static Type made(Type::Kind kind, std::vector<std::string> fields, std::vector<Type> parts) {
  CompositeType composite{std::move(fields), std::move(parts)};
  return {kind, false, {}, nullptr, std::make_shared<const CompositeType>(std::move(composite))};
}

Type Type::list(Type element) { return made(Kind::List, {}, {std::move(element)}); }
Type Type::tuple(std::vector<Type> parts) { return made(Kind::Tuple, {}, std::move(parts)); }
Type Type::record(std::vector<std::string> fields, std::vector<Type> parts) {
  return made(Kind::Record, std::move(fields), std::move(parts));
}

int EnumType::find(std::string_view level) const {
  const auto found = std::ranges::find(levels, level, &Level::name);
  return found == levels.end() ? -1 : int(found - levels.begin());
}

Value Value::level(const EnumType& type, unsigned level, std::vector<Value> payload) {
  return {EnumValue{&type, level, std::move(payload)}};
}

const Rational* Value::asNumber() const {
  const Number* number = std::get_if<Number>(&node);
  return number ? &number->value : nullptr;
}

bool EnumValue::operator==(const EnumValue&) const = default;
bool CompositeValue::operator==(const CompositeValue&) const = default;
bool Value::operator==(const Value&) const = default;

// Besides messages this text is the label of computed levels and the key of published rows, so equal values
// must give equal texts.
std::string Value::toString() const {
  if (auto* flag = std::get_if<bool>(&node)) return *flag ? "true" : "false";
  if (auto* text = std::get_if<std::string>(&node)) return "\"" + *text + "\"";
  if (auto* number = std::get_if<Number>(&node)) {
    // Shares are held as fractions of one and shown in percent.
    if (number->dimension == Dimension::share())
      if (auto percent = number->value * Rational(100)) return percent->toString() + "%";
    return number->value.toString() + number->dimension.baseUnit();
  }
  if (auto* composite = std::get_if<CompositeValue>(&node)) {
    const std::string parts = listed(composite->parts, &Value::toString, composite->fields, " = ");
    if (composite->kind == Type::Kind::List) return "[" + parts + "]";
    return composite->kind == Type::Kind::Tuple ? "(" + parts + ")" : "{ " + parts + " }";
  }
  const EnumValue& level = std::get<EnumValue>(node);
  const std::string& name = level.type->levels[level.level].name;
  return level.payload.empty() ? name : name + "(" + listed(level.payload, &Value::toString) + ")";
}

}  // namespace expc::check
