#include "compiler/points/values.h"

#include <algorithm>

#include "runtime/plan/json.h"

namespace expc::points {
namespace {

llvm::json::Value write(const check::Value& value, bool exact);

llvm::json::Array writeAll(const std::vector<check::Value>& values, bool exact) {
  llvm::json::Array array;
  for (const check::Value& value : values) array.push_back(write(value, exact));
  return array;
}

llvm::json::Value write(const check::Value& value, bool exact) {
  if (auto* flag = std::get_if<bool>(&value.node)) return *flag;
  if (const check::Rational* number = value.asNumber()) {
    if (exact) return number->toString();
    if (number->isInteger()) return number->numerator();
    return number->toDouble();
  }
  if (auto* text = std::get_if<std::string>(&value.node)) return plan::jsonText(*text);
  if (auto* composite = std::get_if<check::CompositeValue>(&value.node)) {
    if (composite->kind != check::Type::Kind::Record) return writeAll(composite->parts, exact);
    llvm::json::Object object;
    for (size_t i = 0; i < composite->parts.size(); ++i)
      object[composite->fields[i]] = write(composite->parts[i], exact);
    return object;
  }
  const check::EnumValue& level = std::get<check::EnumValue>(value.node);
  const std::string& name = level.type->levels[level.level].name;
  if (level.payload.empty()) return name;
  return llvm::json::Object{{name, writeAll(level.payload, exact)}};
}

}  // namespace

llvm::json::Value toJson(const check::Value& value) { return write(value, false); }
llvm::json::Value toExactJson(const check::Value& value) { return write(value, true); }

llvm::json::Array argumentsJson(const check::Command& command) {
  llvm::json::Array arguments;
  for (const check::CommandArgument& argument : command.written) {
    llvm::json::Array texts = plan::jsonTexts(argument.texts);
    if (argument.options)
      arguments.push_back(std::move(texts));
    else
      arguments.push_back(std::move(texts[0]));
  }
  return arguments;
}

void collectPaths(const check::Value& value, const check::Type& type, std::vector<std::string>& paths) {
  if (type.kind == check::Type::Kind::Path) {
    const std::string& path = std::get<std::string>(value.node);
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  } else if (type.kind == check::Type::Kind::Enum) {
    const check::EnumValue& level = std::get<check::EnumValue>(value.node);
    for (size_t i = 0; i < level.payload.size(); ++i)
      collectPaths(level.payload[i], level.type->levels[level.level].fields[i].type, paths);
  } else if (auto* composite = std::get_if<check::CompositeValue>(&value.node)) {
    for (size_t i = 0; i < composite->parts.size(); ++i)
      collectPaths(composite->parts[i], type.composite->parts[composite->kind == check::Type::Kind::List ? 0 : i],
                   paths);
  }
}

}  // namespace expc::points
