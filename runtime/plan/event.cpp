#include <fmt/format.h>

#include <cmath>

#include "runtime/plan/described.h"
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
Value finiteOf(const Value& value) {
  if (const Object* object = value.getAsObject()) {
    Object safe;
    for (const auto& [name, member] : *object) safe[name] = finiteOf(member);
    return safe;
  }
  if (const Array* array = value.getAsArray()) {
    Array safe;
    for (const Value& element : *array) safe.push_back(finiteOf(element));
    return safe;
  }
  const auto number = value.getAsNumber();
  if (!number || std::isfinite(*number)) return value;
  return std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf";
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

void checkMetrics(JsonRecord& io, const Object& metrics) {
  for (const auto& [name, value] : metrics)
    if (!value.getAsNull() && !finite(value)) io.fail("metrics." + name.str(), notANumber(value));
}

void checkSeries(JsonRecord& io, const Object& series) {
  for (const auto& [name, value] : series) {
    const Array* numbers = value.getAsArray();
    if (!numbers) {
      io.fail("series." + name.str(), "expected an array of numbers");
      continue;
    }
    for (size_t i = 0; i < numbers->size(); ++i)
      if (!finite((*numbers)[i])) io.fail(fmt::format("series.{}[{}]", name.str(), i), notANumber((*numbers)[i]));
  }
}

void describeResult(JsonRecord& io, Event& event) {
  if (!io.reads()) {
    io.out()["metrics"] = finiteOf(Object(event.metrics));
    io.out()["series"] = finiteOf(Object(event.series));
  } else {
    io.field("metrics", event.metrics);
    io.optional("series", event.series);
    checkMetrics(io, event.metrics);
    checkSeries(io, event.series);
  }
  if (io.has("environment", true)) io.field("environment", event.environment);
  if (io.has("notes", true)) io.field("notes", event.notes);
  io.optionalObject("rehearsed", event.rehearsed, kDescribed);
}

void describeEvent(JsonRecord& io, Event& event) {
  describeVersion(io);
  io.word("event", event.type, kTypes);
  if (io.failed()) return;
  switch (event.type) {
    case Event::Type::Started:
      break;
    case Event::Type::Progress:
      io.field("done", event.done);
      io.field("total", event.total);
      io.field("phase", event.phase);
      break;
    case Event::Type::Result:
      describeResult(io, event);
      break;
    case Event::Type::Infeasible:
    case Event::Type::Failed:
      io.field("reason", event.reason);
      io.optional("lost", event.lost_others);
      break;
  }
}

}  // namespace

std::string toLine(const Event& event) { return canonicalJson(JsonRecord::written(event, describeEvent)); }

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
  JsonRecord io(errors, *value, root);
  Event event;
  describeEvent(io, event);
  // Other members are left alone: a worker may say more than this reader knows.
  if (errors.any()) return errors.take("the event");
  return event;
}

}  // namespace expc::plan
