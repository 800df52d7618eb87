#include "compiler/check/value.h"

namespace expc::check {

bool Type::agreesWith(const Type& other) const {
  if (isError() || other.isError()) return true;
  bool text = kind == Kind::String || kind == Kind::Path;
  bool other_text = other.kind == Kind::String || other.kind == Kind::Path;
  if (text && other_text) return true;
  if (kind != other.kind) return false;
  if (kind == Kind::Number) return dimension == other.dimension;
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
  }
  return "?";
}

int EnumType::find(std::string_view level) const {
  for (size_t i = 0; i < levels.size(); ++i)
    if (levels[i].name == level) return static_cast<int>(i);
  return -1;
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
  const EnumValue* mine = std::get_if<EnumValue>(&node);
  if (!mine) {
    if (auto* flag = std::get_if<bool>(&node)) return *flag == std::get<bool>(other.node);
    if (auto* number = std::get_if<Number>(&node)) return *number == std::get<Number>(other.node);
    return std::get<std::string>(node) == std::get<std::string>(other.node);
  }
  const EnumValue& theirs = std::get<EnumValue>(other.node);
  return mine->type == theirs.type && mine->level == theirs.level && mine->payload == theirs.payload;
}

std::string Value::toString() const {
  if (auto* flag = std::get_if<bool>(&node)) return *flag ? "true" : "false";
  if (auto* text = std::get_if<std::string>(&node)) return "\"" + *text + "\"";
  if (auto* number = std::get_if<Number>(&node)) {
    if (number->dimension == Dimension::share())
      if (auto percent = number->value * Rational(100)) return percent->toString() + "%";
    return number->value.toString() + number->dimension.baseUnit();
  }
  const EnumValue& level = std::get<EnumValue>(node);
  std::string result = level.type->levels[level.level].name;
  for (size_t i = 0; i < level.payload.size(); ++i) result += (i == 0 ? "(" : ", ") + level.payload[i].toString();
  if (!level.payload.empty()) result += ")";
  return result;
}

}  // namespace expc::check
