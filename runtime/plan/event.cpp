#include <fmt/format.h>

#include <cmath>

#include "runtime/plan/json.h"
#include "runtime/plan/trial.h"

namespace expc::plan {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr llvm::StringLiteral kTypes[] = {"started", "progress", "result", "infeasible", "failed"};
/// A line longer than this is nonsense; a long run's series of losses takes a few megabytes.
constexpr size_t kMaxLine = 64u << 20;

/// JSON has no NaN, and null means "not on this device": so a value that is not finite is written as a word, which the
/// reader refuses by name (a diverged training, a division by zero).
Value wordIfNotFinite(const Value& value) {
  const auto number = value.getAsNumber();
  if (!number || std::isfinite(*number)) return value;
  return std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf";
}

Object finiteMetrics(const Object& metrics) {
  Object safe;
  for (const auto& [name, value] : metrics) safe[name] = wordIfNotFinite(value);
  return safe;
}

Object finiteSeries(const Object& series) {
  Object safe;
  for (const auto& [name, value] : series) {
    Array numbers;
    if (const Array* array = value.getAsArray())
      for (const Value& element : *array) numbers.push_back(wordIfNotFinite(element));
    safe[name] = std::move(numbers);
  }
  return safe;
}

std::string notANumber(const Value& value) {
  if (const auto word = value.getAsString(); word && (*word == "nan" || *word == "inf" || *word == "-inf"))
    return "is not finite (" + word->str() + ")";
  return "is not a finite number";
}

bool finite(const Value& value) {
  const auto number = value.getAsNumber();
  return number && std::isfinite(*number);
}

void checkMetrics(JsonErrors& errors, const Object& metrics, const JsonPath& at) {
  for (const auto& [name, value] : metrics)
    if (!value.getAsNull() && !finite(value)) errors.add(JsonPath{&at, name, std::nullopt}, notANumber(value));
}

void checkSeries(JsonErrors& errors, const Object& series, const JsonPath& at) {
  for (const auto& [name, value] : series) {
    const JsonPath here{&at, name, std::nullopt};
    const Array* numbers = value.getAsArray();
    if (!numbers) {
      errors.add(here, "expected an array of numbers");
      continue;
    }
    for (size_t i = 0; i < numbers->size(); ++i)
      if (!finite((*numbers)[i])) errors.add(JsonPath{&here, "", i}, notANumber((*numbers)[i]));
  }
}

void readResult(JsonErrors& errors, JsonFields& in, const JsonPath& root, Event& event) {
  event.metrics = in.object("metrics");
  checkMetrics(errors, event.metrics, JsonPath{&root, "metrics", std::nullopt});
  if (in.has("series")) event.series = in.object("series");
  checkSeries(errors, event.series, JsonPath{&root, "series", std::nullopt});
  if (in.has("environment")) event.environment = in.object("environment");
  if (in.has("notes")) event.notes = in.strings("notes");
  if (in.has("rehearsed"))
    event.rehearsed = rehearsedFromJson(errors, *in.value("rehearsed"), JsonPath{&root, "rehearsed", std::nullopt});
}

}  // namespace

std::string toLine(const Event& event) {
  Object object{{"v", kTrialVersion}, {"event", kTypes[static_cast<size_t>(event.type)]}};
  switch (event.type) {
    case Event::Type::Started:
      break;
    case Event::Type::Progress:
      object["done"] = event.done;
      object["total"] = event.total;
      object["phase"] = jsonText(event.phase);
      break;
    case Event::Type::Result:
      object["metrics"] = finiteMetrics(event.metrics);
      object["series"] = finiteSeries(event.series);
      object["environment"] = Object(event.environment);
      object["notes"] = jsonTexts(event.notes);
      if (event.rehearsed) object["rehearsed"] = toJson(*event.rehearsed);
      break;
    case Event::Type::Infeasible:
    case Event::Type::Failed:
      object["reason"] = jsonText(event.reason);
      if (event.lost_others) object["lost"] = true;
      break;
  }
  return canonicalJson(std::move(object));
}

llvm::Expected<Event> eventFromLine(std::string_view line) {
  if (line.size() > kMaxLine)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "a line of %zu bytes, the limit is %zu", line.size(),
                                   kMaxLine);
  llvm::Expected<Value> value = parseJson(line);
  if (!value)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "not a JSON event: " + llvm::toString(value.takeError()));
  JsonErrors errors;
  const JsonPath root;
  JsonFields in(errors, *value, root);
  const uint64_t version = in.whole("v");
  if (!errors.any() && version != kTrialVersion)
    in.fail("v", fmt::format("this expc reads version {}, the worker wrote {}; are both of one build?", kTrialVersion,
                             version));
  Event event;
  event.type = in.word<Event::Type>("event", kTypes);
  if (errors.any()) return errors.take("the event");
  switch (event.type) {
    case Event::Type::Started:
      break;
    case Event::Type::Progress:
      event.done = in.whole("done");
      event.total = in.whole("total");
      event.phase = in.string("phase");
      break;
    case Event::Type::Result:
      readResult(errors, in, root, event);
      break;
    case Event::Type::Infeasible:
    case Event::Type::Failed:
      event.reason = in.string("reason");
      event.lost_others = value->getAsObject()->getBoolean("lost").value_or(false);
      break;
  }
  // Other members are left alone: a worker may say more than this reader knows.
  if (errors.any()) return errors.take("the event");
  return event;
}

}  // namespace expc::plan
