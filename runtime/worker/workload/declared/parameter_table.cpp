// Reads values of a trial's specification by type and range. A specification may come from another version or a
// stranger's plan, so nothing in it is taken on trust; messages show the value and what it may be.

#include "runtime/worker/workload/declared/parameter_table.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>

#include "runtime/base/failure.h"
#include "runtime/base/find.h"
#include "runtime/base/llvm.h"

namespace expc::workload {

using json::Object;
using json::Value;

const Value* ParameterTable::declare(StringRef name, const char* type, Value otherwise) {
  params_.push_back({name.str(), type, std::move(otherwise)});
  return object_.get(name);
}

void ParameterTable::number(StringRef name, double& value, double low, double high, const char* type) {
  const Value* given = declare(name, type, value);
  if (!given) return;
  double result = 0;
  bool read = false;
  // Exact decimals cross as texts, because JSON's numbers may lose digits on the way.
  if (auto number = given->getAsNumber()) {
    result = *number;
    read = true;
  } else if (auto text = given->getAsString()) {
    read = llvm::to_float(*text, result);
  }
  if (!read || !std::isfinite(result) || result < low || result > high)
    return fail(name, *given, llvm::formatv("a number from {0} to {1}", low, high).str());
  value = result;
}

int64_t ParameterTable::readWhole(StringRef name, int64_t otherwise, int64_t low, int64_t high, const char* type) {
  // Read it as a number first, so that both kinds accept the same texts.
  auto value = double(otherwise);
  number(name, value, double(low), double(high), type);
  params_.back().value = otherwise;  // number() declared it as a fraction
  if (value == std::floor(value)) return int64_t(value);
  fail(name, *object_.get(name), "a whole number");
  return otherwise;
}

size_t ParameterTable::readWord(StringRef name, ArrayRef<StringRef> words, size_t otherwise) {
  const Value* given = declare(name, name.str().c_str(), words[otherwise]);
  if (!given) return otherwise;
  const auto text = given->getAsString();
  const int found = text ? base::findNamed(words, *text) : -1;
  if (found >= 0) return size_t(found);
  fail(name, *given, "one of " + llvm::join(words, ", "));
  return otherwise;
}

void ParameterTable::flag(StringRef name, bool& value) {
  const Value* given = declare(name, "bool", value);
  if (!given) return;
  if (const auto on = given->getAsBoolean())
    value = *on;
  else
    fail(name, *given, "true or false");
}

void ParameterTable::path(StringRef name, std::string& value, StringRef level, StringRef variant) {
  const Value* given = declare(name, name.str().c_str(), level);
  if (!given || given->getAsString() == level) return;
  const auto of = this->variant(*given);
  const auto path = of && of->level == variant ? of->argument->getAsString() : std::nullopt;
  if (path && !path->empty())
    value = path->str();
  else
    fail(name, *given, llvm::formatv("\"{0}\" or {{\"{1}\":[\"a path\"]}", level, variant).str());
}

std::optional<ParameterTable::Source> ParameterTable::source(StringRef name, const char* type, Value otherwise,
                                                             std::initializer_list<StringRef> levels,
                                                             const std::string& wanted) {
  const Value* given = declare(name, type, std::move(otherwise));
  if (!given) return std::nullopt;
  // A level's place in the list is the caller's enumeration; "synthetic" comes behind them all.
  if (const auto of = variant(*given)) {
    Source source;
    source.level = size_t(llvm::find(levels, of->level) - levels.begin());
    if (source.level < levels.size()) {
      source.path = of->argument->getAsString().value_or("").str();
      if (!source.path.empty()) return source;
    } else if (of->level == "synthetic") {
      // Read the count with a table of its own, to reuse its checks; the message below is about the whole value.
      const Object counted{{"count", *of->argument}};
      ParameterTable table(counted, "");
      table.whole("count", source.count, 1, 10'000'000);
      if (table.message_.empty()) return source;
    }
  }
  fail(name, *given, wanted);
  return std::nullopt;
}

void ParameterTable::fail(StringRef name, const Value& value, const std::string& wanted) {
  // The first failure is what a user mends first; later ones often follow from it.
  if (message_.empty()) message_ = llvm::formatv("{0} {1} is {2}, it must be {3}", what_, name, value, wanted).str();
}

Error ParameterTable::take() const { return message_.empty() ? Error::success() : failure("{}", message_); }

/// Unknown names come first: a misspelt parameter must not look like a missing one.
Error ParameterTable::takeAll(StringRef owner) const {
  for (const auto& entry : object_)
    if (llvm::none_of(params_, [&](const Param& param) { return StringRef(entry.first) == param.name; }))
      return failure("{} has no {} {}", owner, what_, StringRef(entry.first));
  return take();
}

std::optional<ParameterTable::Variant> ParameterTable::variant(const Value& value) {
  const Object* object = value.getAsObject();
  // The plan writes a level with arguments as an object with one member.
  const json::Array* arguments = object && object->size() == 1 ? object->begin()->second.getAsArray() : nullptr;
  if (!arguments || arguments->size() != 1) return std::nullopt;
  return Variant{object->begin()->first, &arguments->front()};
}

Expected<Settings> readSettings(const protocol::TrialSpec& spec) {
  constexpr int64_t kMost = 1'000'000'000;
  ParameterTable table(spec.settings, "setting");
  Settings result;
  const bool epochs = spec.kind == TrialKind::Quality;
  if (epochs) {
    table.whole("epochs", result.epochs, 1, kMost);
  } else {
    table.whole("steps", result.steps, 1, kMost);
    // `epochs` of timed and profile trials means passes over the data.
    table.whole("epochs", result.passes, 1, kMost);
    table.whole("warmup", result.warmup, 0, kMost);
  }
  TRY(table.take());
  // 0 is "not given": readers above accept 1 and more.
  if (result.steps == 0 && result.epochs == 0 && result.passes == 0)
    return failure("a {} trial needs its length: {} is not set", plan::toString(spec.kind),
                   epochs ? "epochs" : "steps");
  return result;
}

bool asked(const protocol::TrialSpec& spec, std::string_view metric) {
  return spec.metrics.empty() || is_contained(spec.metrics, metric);
}

json::Value toJson(const Declared& workload) {
  json::Array params, metrics;
  for (const Param& param : workload.params) {
    json::Object described{{"name", param.name}, {"type", param.type}, {"default", param.value}};
    if (!param.one_process.empty()) described["one_process"] = json::Array(param.one_process);
    params.push_back(std::move(described));
  }
  for (const Metric& metric : workload.metrics)
    metrics.push_back(json::Object{{"name", metric.name}, {"kind", std::string(plan::toString(metric.kind))}});
  return json::Object{{"name", workload.name},
                      {"version", workload.version},
                      {"params", std::move(params)},
                      {"metrics", std::move(metrics)}};
}

}  // namespace expc::workload
