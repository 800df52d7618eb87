#include "compiler/value/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace expc::check {

/// "a, b", each behind its name where the parts have names.
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
  bool text = kind == Kind::String || kind == Kind::Path;
  bool other_text = other.kind == Kind::String || other.kind == Kind::Path;
  if (text && other_text) return true;
  if (kind != other.kind) return false;
  if (kind == Kind::Number) return dimension == other.dimension;
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
  switch (kind) {
    case Kind::Error:
      return "?";
    case Kind::Bool:
      return "bool";
    case Kind::Number:
      return whole ? "int" : dimension.isPlain() ? "float" : dimension.typeName();
    case Kind::String:
      return "string";
    case Kind::Path:
      return "path";
    case Kind::Enum:
      return enumeration->name;
    case Kind::List:
      return fmt::format("list({})", composite->parts[0].name());
    case Kind::Tuple:
      return "(" + listed(composite->parts, &Type::name) + ")";
    case Kind::Record:
      return "{ " + listed(composite->parts, &Type::name, composite->fields, " : ") + " }";
  }
  return "?";
}

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
  return found == levels.end() ? -1 : static_cast<int>(found - levels.begin());
}

Value Value::level(const EnumType& type, unsigned level, std::vector<Value> payload) {
  return {EnumValue{&type, level, std::move(payload)}};
}

const Rational* Value::asNumber() const {
  const Number* number = std::get_if<Number>(&node);
  return number ? &number->value : nullptr;
}

bool Value::operator==(const Value& other) const {
  if (node.index() != other.node.index()) return false;
  const auto equals = [&](const auto& mine) {
    const auto& theirs = std::get<std::decay_t<decltype(mine)>>(other.node);
    if constexpr (requires { mine.payload; })
      return mine.type == theirs.type && mine.level == theirs.level && mine.payload == theirs.payload;
    else if constexpr (requires { mine.tuple; })
      return mine.tuple == theirs.tuple && mine.parts == theirs.parts;
    else if constexpr (requires { mine.fields; })
      return mine.fields == theirs.fields && mine.parts == theirs.parts;
    else
      return mine == theirs;
  };
  return std::visit(equals, node);
}

std::string Value::toString() const {
  if (auto* flag = std::get_if<bool>(&node)) return *flag ? "true" : "false";
  if (auto* text = std::get_if<std::string>(&node)) return "\"" + *text + "\"";
  if (auto* number = std::get_if<Number>(&node)) {
    if (number->dimension == Dimension::share())
      if (auto percent = number->value * Rational(100)) return percent->toString() + "%";
    return number->value.toString() + number->dimension.baseUnit();
  }
  if (auto* sequence = std::get_if<SequenceValue>(&node)) {
    const std::string parts = listed(sequence->parts, &Value::toString);
    return sequence->tuple ? "(" + parts + ")" : "[" + parts + "]";
  }
  if (auto* record = std::get_if<RecordValue>(&node))
    return "{ " + listed(record->parts, &Value::toString, record->fields, " = ") + " }";
  const EnumValue& level = std::get<EnumValue>(node);
  const std::string& name = level.type->levels[level.level].name;
  return level.payload.empty() ? name : name + "(" + listed(level.payload, &Value::toString) + ")";
}

}  // namespace expc::check
