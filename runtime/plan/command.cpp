// Writes and reads commands as JSON with every check that their users rely on, and expands their arguments.
// Expansion never concatenates into a shell line: an argument stays one argument, whatever its parameters hold.

#include "runtime/plan/command.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Regex.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/text.h"

namespace expc::plan {

using json::Value;
namespace {

using base::JsonRecord, base::canonicalJson, base::kDescribed;
std::string numberText(const Value& value) {
  const double number = *value.getAsNumber();
  // Whole numbers are exact, also beyond 2^53.
  if (value.getAsUINT64() || (number == std::trunc(number) && std::abs(number) < 0x1p63)) return canonicalJson(value);
  char buffer[1100];  // the smallest double has 1074 places
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed);
  return {buffer, end.ptr};
}

bool isSimple(const Value& value) { return !value.getAsObject() && !value.getAsArray(); }

/// Calls `literal` and `name` for the pieces of `text`, in order. The only place that knows the syntax of `${name}`
/// and `$$`.
Error eachPiece(const std::string& text, const std::function<void(std::string_view)>& literal,
                const std::function<void(const std::string&)>& name) {
  for (size_t at = 0; at < text.size();) {
    const size_t dollar = std::min(text.find('$', at), text.size());
    literal(std::string_view(text).substr(at, dollar - at));
    if (dollar == text.size()) break;
    const char next = dollar + 1 < text.size() ? text[dollar + 1] : '\0';
    if (next == '$') {
      literal("$");
      at = dollar + 2;
      continue;
    }
    const size_t end = next == '{' ? text.find('}', dollar) : std::string::npos;
    if (end == std::string::npos || end == dollar + 2)
      return failure("the argument '{}': a parameter is written ${{name}}, a dollar sign $$", text);
    name(text.substr(dollar + 2, end - dollar - 2));
    at = end + 1;
  }
  return Error::success();
}

using From = CommandMetric::From;

}  // namespace

static void describe(JsonRecord& io, CommandMetric& metric) {
  io.field("name", metric.name);
  io.word("from", metric.from, words::kFrom);
  io.required(EXPC_NAMED(metric, file, where, scale, series));
  if (io.has("take", metric.take.has_value())) {
    if (io.reads()) metric.take.emplace();
    describe(io, *metric.take);
  }
  io.optional(EXPC_NAMED(metric, distribution, optional, row, text, group, part, units));
  // Formats with structure need a file; standard output may hold other lines.
  if (metric.file.empty() && metric.from != From::Regex && metric.from != From::Lines)
    io.fail("file", "only a regex reads standard output, and lines");
  if (metric.take && metric.series && !metric.distribution) io.fail("take", "a series takes all");
}

static void describe(JsonRecord& io, Preparation& preparation) {
  io.field("arguments", preparation.arguments);
  describeTimeout(io, preparation.timeout_seconds);
  if (preparation.arguments.empty()) io.fail("arguments", "a preparation needs a program to run");
}

void describeTimeout(JsonRecord& io, std::optional<double>& seconds) {
  io.optional("timeout_seconds", seconds);
  if (seconds && *seconds <= 0) io.fail("timeout_seconds", "is not positive");
}

void describe(JsonRecord& io, Bound& bound) {
  io.word("relation", bound.relation, words::kRelation);
  io.field("low", bound.low);
  if (bound.relation == Relation::Within) io.field("high", bound.high);
  io.field("text", bound.text);
  if (bound.relation == Relation::Within && bound.low > bound.high)
    io.fail("high", "the band's upper end is below its lower end");
}

void describe(JsonRecord& io, Reduction& reduction) {
  io.word("take", reduction.take, words::kTake);
  if (reduction.take == Reduction::Take::Percentile) io.field("percentile", reduction.percentile);
  io.optional(EXPC_NAMED(reduction, skip, first, last));
  if (reduction.take == Reduction::Take::Percentile && (reduction.percentile <= 0 || reduction.percentile >= 100))
    io.fail("percentile", "is not between 0 and 100");
}

void describe(JsonRecord& io, Expectation& expectation) {
  describe(io, expectation.read);
  io.optional("bound", expectation.bound);
  const From from = expectation.read.from;
  if (!expectation.bound && from != From::Regex && from != From::Json && from != From::Same)
    io.fail("bound", "a number needs one");
  if (expectation.bound && from == From::Same) io.fail("bound", "whether two files are equal is not a number");
}

void describe(JsonRecord& io, Ready& ready) {
  io.word("by", ready.by, words::kReady);
  if (ready.by != Ready::By::Tcp) io.field("what", ready.what);
  describeTimeout(io, ready.timeout_seconds);
  io.optional(EXPC_NAMED(ready, metric, cpu_time, memory, device_memory));
}

void describe(JsonRecord& io, Service& service) {
  io.required(EXPC_NAMED(service, name, command, parameters));
  if (!service.command.ready || !service.command.services.empty())
    io.fail("command", "a service needs 'ready', and has no services itself");
}

void describe(JsonRecord& io, Command& command) {
  io.field("arguments", command.arguments);
  describeTimeout(io, command.timeout_seconds);
  io.field("inputs", command.inputs);
  io.optional(EXPC_NAMED(command, copied, expectations, preparation, before, exit_codes, ranks));
  std::vector<std::string> names;
  io.list("metrics", command.metrics, [&](JsonRecord& inner, CommandMetric& metric) {
    describe(inner, metric);
    if (metric.from == From::Same) inner.fail("whether two files are equal is not a number");
    if (is_contained(names, metric.name)) inner.fail("'" + metric.name + "' is read twice");
    names.push_back(metric.name);
  });
  io.optional(EXPC_NAMED(command, inside, ready, services));
  if (command.arguments.empty()) io.fail("arguments", "a command needs a program to run");
}

std::string instanceOf(const Service& service, const Point& point) {
  json::Object values;
  for (const std::string& name : service.parameters)
    if (const Value* value = point.parameters.get(name)) values[name] = *value;
  return canonicalJson(json::Array{base::written(service.command), std::move(values)});
}

std::string instancesOf(const Plan& plan, const Point& point) {
  std::string text;
  if (const auto& command = plan.workloads[point.workload].command)
    for (const Service& service : command->services) text += instanceOf(service, point) + "\n";
  return text;
}

std::string argumentText(const Value& value) {
  if (const auto text = value.getAsString()) return text->str();
  if (const auto flag = value.getAsBoolean()) return *flag ? "true" : "false";
  if (value.getAsNumber()) return numberText(value);
  const json::Array* array = value.getAsArray();
  if (!array || !std::all_of(array->begin(), array->end(), isSimple)) return canonicalJson(value);
  std::string joined;
  for (const Value& element : *array) {
    if (&element != &array->front()) joined += ',';
    joined += argumentText(element);
  }
  return joined;
}

json::Object toJson(const CommandMetric& read) { return base::written(read); }

void addArgument(std::map<std::string, std::string>& values, StringRef name, const Value& value) {
  values[name.str()] = argumentText(value);
  const json::Array* list = value.getAsArray();
  if (!list || list->empty()) return;
  values[(name + kFirst).str()] = argumentText(list->front());
  values[(name + kLast).str()] = argumentText(list->back());
}

std::string_view rowsIn(std::string_view pointer) {
  size_t end = 0;
  for (size_t at = 0; at < pointer.size();) {
    const size_t next = std::min(pointer.find('/', at + 1), pointer.size());
    const std::string_view token = pointer.substr(at + 1, next - at - 1);
    if (token == "*" || (token.find('=') != token.npos && next < pointer.size())) end = next;
    at = next;
  }
  return pointer.substr(0, end);
}

std::string rowPart(const CommandMetric& key, double number) { return fmt::format("{:.15g}", number * key.scale); }

std::string rowKey(const Command& command, const json::Object& parameters) {
  std::vector<std::string> parts;
  for (const CommandMetric& key : command.inside) {
    const Value* level = parameters.get(key.name);
    const auto number = level && !key.text ? level->getAsNumber() : std::nullopt;
    CommandMetric base = key;
    base.scale = 1;  // parameters are in base units
    parts.push_back(number ? rowPart(base, *number) : level ? argumentText(*level) : "");
  }
  return rowKey(parts);
}

std::string rowKey(const std::vector<std::string>& parts) {
  return parts.size() == 1 ? parts.front() : canonicalJson(base::jsonTexts(parts));
}

Expected<std::set<std::string>> namesIn(const std::string& text) {
  std::set<std::string> names;
  auto error = eachPiece(text, [](std::string_view) {}, [&](const std::string& name) { names.insert(name); });
  if (error) return error;
  return names;
}

Expected<std::vector<std::string>> expandArguments(const std::vector<std::string>& arguments,
                                                   const std::map<std::string, std::string>& values) {
  // An inactive parameter takes an argument with it, and with that the option whose value it would be.
  std::vector<std::string> result;
  bool before_is_option = false;  // the last one in `result` was written without a parameter and begins with a dash
  for (const std::string& argument : arguments) {
    std::string text;
    bool absent = false, named = false;
    auto error = eachPiece(
        argument, [&](std::string_view piece) { text += piece; },
        [&](const std::string& name) {
          named = true;
          const auto found = values.find(name);
          if (found == values.end())
            absent = true;
          else
            text += found->second;
        });
    if (error) return error;
    if (absent) {
      // Only an argument that begins with the parameter is the option's value.
      if (before_is_option && argument.front() == '$') result.pop_back();
      before_is_option = false;
      continue;
    }
    if (text.find('\0') != std::string::npos) return failure("the argument '{}' has a null character in it", argument);
    before_is_option = !named && text.size() > 1 && text.front() == '-' && text.find('=') == std::string::npos;
    result.push_back(std::move(text));
  }
  return result;
}

/// Replaces `${name}` in `text` by what `value` returns for the name.
static std::string filledIn(std::string_view text, const std::function<std::string(const std::string&)>& value) {
  std::string filled;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = std::min(text.find("${", at), text.size()), end = text.find('}', begin);
    filled += text.substr(at, begin - at);
    if (begin == text.size() || end == text.npos) return filled += text.substr(begin);
    const bool escaped = begin > 0 && text[begin - 1] == '\\';
    filled += escaped ? std::string(text.substr(begin, end + 1 - begin))
                      : value(std::string(text.substr(begin + 2, end - begin - 2)));
    at = end + 1;
  }
  return filled;
}

std::vector<std::string> parametersIn(std::string_view text) {
  std::vector<std::string> names;
  filledIn(text, [&](const std::string& name) { return names.emplace_back(name); });
  return names;
}

Command readAt(Command command, const json::Object& parameters) {
  const auto at = [&](CommandMetric& read) {
    const auto fill = [&](std::string& text, bool pattern) {
      text = filledIn(text, [&](const std::string& name) {
        const Value* value = parameters.get(name);
        const std::string shown = value ? argumentText(*value) : "";
        return pattern ? llvm::Regex::escape(shown) : shown;
      });
    };
    fill(read.file, false);
    fill(read.where, read.from == From::Regex);
  };
  for (CommandMetric& metric : command.metrics) at(metric);
  for (CommandMetric& key : command.inside) at(key);
  for (Expectation& expectation : command.expectations) at(expectation.read);
  return command;
}

std::string programPath(const std::string& name, const std::string& root) {
  if (name.find('/') == std::string::npos || name.front() == '/') return name;
  return (std::filesystem::path(root) / name).lexically_normal().string();
}

const Outside* seenFromOutside(StringRef name) {
  const auto* found = std::ranges::find(kSeenFromOutside, name, [](const Outside& one) { return StringRef(one.name); });
  return found == std::end(kSeenFromOutside) ? nullptr : found;
}

std::string seenFromOutsideText() {
  return base::listed(
      base::textsOf(kSeenFromOutside, [](const Outside& one) { return fmt::format("'{}' ({})", one.name, one.type); }));
}

std::string outputsOf(const std::string& folder) {
  const size_t name = folder.rfind('/') + 1;  // 0 if there is no slash
  return folder.substr(0, name) + "." + folder.substr(name);
}

std::string outputOf(const std::string& folder, const std::string& output, unsigned rank) {
  // Rank 0 has the plain name, since most commands are one process.
  const std::string name = rank == 0 ? output : fmt::format("{}.{}.txt", output.substr(0, output.find('.')), rank);
  return outputsOf(folder) + "/" + name;
}

}  // namespace expc::plan
