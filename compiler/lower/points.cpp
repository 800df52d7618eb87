#include "compiler/lower/points.h"

#include <algorithm>

namespace expc::lower {
namespace {

/// With `exact`, numbers become decimal text, so that no rounding can join or part two ids.
llvm::json::Value write(const check::Value& value, bool exact) {
  if (auto* flag = std::get_if<bool>(&value.node)) return *flag;
  if (const check::Rational* number = value.asNumber()) {
    if (exact) return number->toString();
    if (number->isInteger()) return number->numerator();
    return number->toDouble();
  }
  if (auto* text = std::get_if<std::string>(&value.node)) return *text;
  const check::EnumValue& level = std::get<check::EnumValue>(value.node);
  const std::string& name = level.type->levels[level.level].name;
  if (level.payload.empty()) return name;
  llvm::json::Array payload;
  for (const check::Value& part : level.payload) payload.push_back(write(part, exact));
  return llvm::json::Object{{name, std::move(payload)}};
}

}  // namespace

llvm::json::Value toJson(const check::Value& value) { return write(value, false); }

std::string pointId(const check::Workload& workload, const expand::Assignment& at) {
  llvm::json::Object parameters;
  for (unsigned i = 0; i < workload.parameters.size(); ++i) {
    const check::Parameter& parameter = workload.parameters[i];
    const check::Value* value = at.value(i);
    if (!value || (parameter.fallback && *parameter.fallback == *value)) continue;
    parameters[parameter.name] = write(*value, true);
  }
  return plan::shortHash(plan::canonicalJson(llvm::json::Object{
      {"workload", workload.name}, {"version", workload.version}, {"parameters", std::move(parameters)}}));
}

llvm::json::Object parametersOf(const check::Workload& workload, const expand::Assignment& at) {
  llvm::json::Object parameters;
  for (unsigned i = 0; i < workload.parameters.size(); ++i)
    if (const check::Value* value = at.value(i)) parameters[workload.parameters[i].name] = toJson(*value);
  return parameters;
}

void collectPaths(const check::Value& value, const check::Type& type, std::vector<std::string>& paths) {
  if (type.kind == check::Type::Kind::Path) {
    const std::string& path = std::get<std::string>(value.node);
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  } else if (type.kind == check::Type::Kind::Enum) {
    const check::EnumValue& level = std::get<check::EnumValue>(value.node);
    for (size_t i = 0; i < level.payload.size(); ++i)
      collectPaths(level.payload[i], level.type->levels[level.level].fields[i].type, paths);
  }
}

std::string unavailable(const check::Study& study, const expand::Assignment& at, const SystemFacts& facts) {
  if (!facts.gpus) return "";
  for (const check::Rule& rule : study.rules) {
    if (!rule.usesSystem()) continue;
    check::Outcome outcome = check::evaluate(*rule.condition, at.environment(*facts.gpus));
    const check::Value* value = std::get_if<check::Value>(&outcome);
    // A rule without a value here (an inactive parameter) says nothing about the machine.
    if (!value || value->asBool() == (rule.kind == ast::RuleKind::Require)) continue;
    if (!rule.because.empty()) return rule.because;
    return rule.name.empty() ? "a rule about the system excludes it" : fmt::format("rule '{}' excludes it", rule.name);
  }
  return "";
}

}  // namespace expc::lower
