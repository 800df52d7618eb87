#include "compiler/value/value.h"

#include <fmt/format.h>

namespace expc::check {

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
    case Kind::Record: {
      std::string text;
      for (size_t i = 0; i < composite->parts.size(); ++i) {
        text += text.empty() ? "" : ", ";
        if (kind == Kind::Record) text += composite->fields[i] + " : ";
        text += composite->parts[i].name();
      }
      return kind == Kind::Tuple ? "(" + text + ")" : "{ " + text + " }";
    }
  }
  return "?";
}

Type Type::list(Type element) {
  return {
      Kind::List, false, {}, nullptr, std::make_shared<const CompositeType>(CompositeType{{}, {std::move(element)}})};
}
Type Type::tuple(std::vector<Type> parts) {
  return {Kind::Tuple, false, {}, nullptr, std::make_shared<const CompositeType>(CompositeType{{}, std::move(parts)})};
}
Type Type::record(std::vector<std::string> fields, std::vector<Type> parts) {
  return {Kind::Record,
          false,
          {},
          nullptr,
          std::make_shared<const CompositeType>(CompositeType{std::move(fields), std::move(parts)})};
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
  if (auto* sequence = std::get_if<SequenceValue>(&node)) {
    const SequenceValue& theirs = std::get<SequenceValue>(other.node);
    return sequence->tuple == theirs.tuple && sequence->parts == theirs.parts;
  }
  if (auto* record = std::get_if<RecordValue>(&node)) {
    const RecordValue& theirs = std::get<RecordValue>(other.node);
    return record->fields == theirs.fields && record->parts == theirs.parts;
  }
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
  if (auto* sequence = std::get_if<SequenceValue>(&node)) {
    std::string result;
    for (const Value& part : sequence->parts) result += (result.empty() ? "" : ", ") + part.toString();
    return sequence->tuple ? "(" + result + ")" : "[" + result + "]";
  }
  if (auto* record = std::get_if<RecordValue>(&node)) {
    std::string result;
    for (size_t i = 0; i < record->parts.size(); ++i)
      result += (result.empty() ? "" : ", ") + record->fields[i] + " = " + record->parts[i].toString();
    return "{ " + result + " }";
  }
  const EnumValue& level = std::get<EnumValue>(node);
  std::string result = level.type->levels[level.level].name;
  for (size_t i = 0; i < level.payload.size(); ++i) result += (i == 0 ? "(" : ", ") + level.payload[i].toString();
  if (!level.payload.empty()) result += ")";
  return result;
}

}  // namespace expc::check
