// Machines as the compiler knows them: a value or nothing for each property in the table of words.

#include <utility>

#include "compiler/check/model.h"
#include "compiler/parse/words.h"

namespace expc::check {

namespace {

// The largest number accepted from JSON: a double holds every whole number up to 2^53.
constexpr int64_t kMost = int64_t{1} << 53;

/// The type that the table of words states: `int`, `Bytes`, `Bytes / Time`.
Type typeOf(std::string_view written) {
  if (written == "int") return Type::integer();
  if (written == "bool") return Type::boolean();
  if (written == "string") return Type::string();
  // Otherwise a dimension, or a quotient of two.
  const size_t stroke = written.find(" / ");
  const Dimension above = *findDimension(written.substr(0, stroke));
  return Type::number(stroke == std::string_view::npos ? above
                                                       : *above.over(*findDimension(written.substr(stroke + 3))));
}

}  // namespace

const std::vector<SystemProperty>& systemProperties() {
  // Built once: the table is constant, and properties are referred to by index.
  static const std::vector<SystemProperty> all = [] {
    std::vector<SystemProperty> result;
    for (const words::Word& word : words::words(words::Role::Property))
      result.push_back({word.text, typeOf(word.type)});
    return result;
  }();
  return all;
}

int findSystemProperty(std::string_view name) { return words::indexOf(words::Role::Property, name); }

System System::unknown(std::string name) {
  System system;
  system.name = std::move(name);
  system.values.resize(systemProperties().size());
  return system;
}

const std::optional<Value>& System::operator[](std::string_view property) const {
  return values[findSystemProperty(property)];
}

void System::set(std::string_view property, Value value) { values[findSystemProperty(property)] = std::move(value); }

json::Object toJson(const System& system) {
  json::Object object;
  const auto& all = systemProperties();
  for (size_t i = 0; i < all.size(); ++i) {
    // An unknown property is left out, which reads back as unknown.
    if (!system.values[i]) continue;
    const Value& value = *system.values[i];
    json::Value& member = object[StringRef(all[i].name)];
    if (const Rational* number = value.asNumber())
      member = number->toDouble();
    else if (const auto* text = std::get_if<std::string>(&value.node))
      member = json::fixUTF8(*text);
    else
      member = value.asBool();
  }
  return object;
}

System systemFromJson(std::string name, const json::Object& object) {
  System system = System::unknown(std::move(name));
  const auto& all = systemProperties();
  for (size_t i = 0; i < all.size(); ++i) {
    const json::Value* member = object.get(StringRef(all[i].name));
    if (!member) continue;
    const Type& type = all[i].type;
    // JSON may come from another machine or a stranger, so each member must have the property's type.
    const auto whole = member->getAsInteger();
    if (whole && *whole > 0 && *whole <= kMost && type.isNumber())
      system.values[i] = Value::number(*whole, type.dimension);
    else if (const auto text = member->getAsString(); text && type.kind == Type::Kind::String)
      system.values[i] = Value::text(text->str());
    else if (const auto truth = member->getAsBoolean(); truth && type.kind == Type::Kind::Bool)
      system.values[i] = Value::boolean(*truth);
  }
  return system;
}

}  // namespace expc::check
