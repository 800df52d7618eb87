#include "runtime/worker/workload/parameter_reader.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

namespace expc::workload {

using llvm::json::Object;
using llvm::json::Value;

double ParameterReader::number(llvm::StringRef name, double otherwise, double low, double high) {
  const Value* value = object_.get(name);
  if (!value) return otherwise;
  double result = 0;
  bool read = false;
  if (auto given = value->getAsNumber()) {
    result = *given;
    read = true;
  } else if (auto text = value->getAsString()) {
    read = llvm::to_float(*text, result);
  }
  if (!read || !std::isfinite(result) || result < low || result > high) {
    fail(name, *value, llvm::formatv("a number from {0} to {1}", low, high).str());
    return otherwise;
  }
  return result;
}

int64_t ParameterReader::whole(llvm::StringRef name, int64_t otherwise, int64_t low, int64_t high) {
  const double result =
      number(name, static_cast<double>(otherwise), static_cast<double>(low), static_cast<double>(high));
  if (result != std::floor(result)) {
    fail(name, *object_.get(name), "a whole number");
    return otherwise;
  }
  return static_cast<int64_t>(result);
}

size_t ParameterReader::word(llvm::StringRef name, std::initializer_list<llvm::StringRef> words) {
  const Value* value = object_.get(name);
  if (!value) return 0;
  const auto text = value->getAsString();
  size_t index = 0;
  for (llvm::StringRef word : words) {
    if (text && *text == word) return index;
    ++index;
  }
  fail(name, *value, "one of " + llvm::join(words, ", "));
  return 0;
}

bool ParameterReader::flag(llvm::StringRef name, bool otherwise) {
  const Value* value = object_.get(name);
  if (!value) return otherwise;
  if (const auto on = value->getAsBoolean()) return *on;
  fail(name, *value, "true or false");
  return otherwise;
}

std::string ParameterReader::path(llvm::StringRef name, llvm::StringRef level, llvm::StringRef variant) {
  const Value* value = object_.get(name);
  if (!value || value->getAsString() == level) return "";
  const auto given = this->variant(name);
  const auto path = given && given->level == variant ? given->argument->getAsString() : std::nullopt;
  if (path && !path->empty()) return path->str();
  fail(name, *value, llvm::formatv("\"{0}\" or {{\"{1}\":[\"a path\"]}", level, variant).str());
  return "";
}

void ParameterReader::fail(llvm::StringRef name, const Value& value, const std::string& wanted) {
  if (message_.empty()) message_ = llvm::formatv("{0} {1} is {2}, it must be {3}", what_, name, value, wanted).str();
}
llvm::Error ParameterReader::take() const {
  return message_.empty() ? llvm::Error::success() : llvm::createStringError(message_);
}

std::optional<ParameterReader::Variant> ParameterReader::variant(llvm::StringRef name) const {
  const Value* value = object_.get(name);
  const Object* object = value ? value->getAsObject() : nullptr;
  const llvm::json::Array* arguments = object && object->size() == 1 ? object->begin()->second.getAsArray() : nullptr;
  if (!arguments || arguments->size() != 1) return std::nullopt;
  return Variant{object->begin()->first, &arguments->front()};
}

llvm::Expected<Settings> readSettings(const plan::TrialSpec& spec) {
  constexpr int64_t kMost = 1'000'000'000;
  ParameterReader reader(spec.settings, "setting");
  Settings result;
  const bool epochs = spec.kind == plan::TrialKind::Quality;
  if (epochs) {
    result.epochs = reader.whole("epochs", 0, 1, kMost);
  } else {
    result.steps = reader.whole("steps", 0, 1, kMost);
    result.passes = reader.whole("epochs", 0, 1, kMost);
    result.warmup = reader.whole("warmup", 0, 0, kMost);
  }
  if (auto error = reader.take()) return error;
  if (result.steps == 0 && result.epochs == 0 && result.passes == 0) {
    return llvm::createStringError("a " + std::string(plan::toString(spec.kind)) +
                                   " trial needs its length: " + (epochs ? "epochs" : "steps") + " is not set");
  }
  return result;
}

bool asked(const plan::TrialSpec& spec, std::string_view metric) {
  return spec.metrics.empty() || std::find(spec.metrics.begin(), spec.metrics.end(), metric) != spec.metrics.end();
}

}  // namespace expc::workload
