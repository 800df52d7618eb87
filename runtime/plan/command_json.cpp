#include "runtime/plan/command_json.h"

#include "runtime/plan/bound_json.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

Object metricJson(const CommandMetric& metric) {
  Object object{{"name", jsonText(metric.name)}, {"from", words::name(words::kFrom, metric.from)},
                {"file", jsonText(metric.file)}, {"where", jsonText(metric.where)},
                {"scale", metric.scale},         {"series", metric.series}};
  if (metric.take) object["take"] = words::name(words::kTake, *metric.take);
  return object;
}

using From = CommandMetric::From;

CommandMetric readMetric(JsonFields& in) {
  CommandMetric metric;
  metric.name = in.string("name");
  metric.from = in.word<From>("from", words::kFrom);
  metric.file = in.string("file");
  metric.where = in.string("where");
  metric.scale = in.number("scale");
  metric.series = in.boolean("series");
  if (in.has("take")) metric.take = in.word<CommandMetric::Take>("take", words::kTake);
  if (metric.file.empty() && metric.from != From::Regex && metric.from != From::Lines)
    in.fail("file", "only a regex reads standard output, and lines");
  if (metric.take && metric.series) in.fail("take", "a series takes all");
  return metric;
}

Expectation readExpectation(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  Expectation expectation{readMetric(in), {}};
  const From from = expectation.read.from;
  if (in.has("bound"))
    expectation.bound = readBound(errors, *in.value("bound"), JsonPath{&at, "bound", std::nullopt});
  else if (from != From::Regex && from != From::Json && from != From::Same)
    in.fail("bound", "a number needs one");
  if (expectation.bound && from == From::Same) in.fail("bound", "whether two files are the same is no number");
  in.refuseOthers();
  return expectation;
}

std::optional<double> readTimeout(JsonFields& in) {
  if (!in.has("timeout_seconds")) return std::nullopt;
  const double seconds = in.number("timeout_seconds");
  if (seconds <= 0) in.fail("timeout_seconds", "is not positive");
  return seconds;
}

Preparation readPreparation(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  Preparation preparation;
  preparation.arguments = in.strings("arguments");
  if (preparation.arguments.empty()) in.fail("arguments", "a preparation needs a program to run");
  preparation.timeout_seconds = readTimeout(in);
  in.refuseOthers();
  return preparation;
}

}  // namespace

Object toJson(const Expectation& expectation) {
  Object object = metricJson(expectation.read);
  if (expectation.bound) object["bound"] = toJson(*expectation.bound);
  return object;
}

Object toJson(const Command& command) {
  Array metrics;
  for (const CommandMetric& metric : command.metrics) metrics.push_back(metricJson(metric));
  Object object{{"arguments", jsonTexts(command.arguments)},
                {"inputs", jsonTexts(command.inputs)},
                {"metrics", std::move(metrics)}};
  if (command.timeout_seconds) object["timeout_seconds"] = *command.timeout_seconds;
  if (!command.copied.empty()) object["copied"] = jsonTexts(command.copied);
  if (!command.expectations.empty()) {
    Array expectations;
    for (const Expectation& expectation : command.expectations) expectations.push_back(toJson(expectation));
    object["expectations"] = std::move(expectations);
  }
  if (const auto& preparation = command.preparation) {
    Object prepare{{"arguments", jsonTexts(preparation->arguments)}};
    if (preparation->timeout_seconds) prepare["timeout_seconds"] = *preparation->timeout_seconds;
    object["preparation"] = std::move(prepare);
  }
  return object;
}

Command readCommand(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  Command command;
  command.arguments = in.strings("arguments");
  if (command.arguments.empty()) in.fail("arguments", "a command needs a program to run");
  command.timeout_seconds = readTimeout(in);
  command.inputs = in.strings("inputs");
  if (in.has("copied")) command.copied = in.strings("copied");
  if (in.has("expectations"))
    in.each("expectations", [&](const Value& item, const JsonPath& expectation_at) {
      command.expectations.push_back(readExpectation(errors, item, expectation_at));
    });
  if (in.has("preparation"))
    command.preparation = readPreparation(errors, *in.value("preparation"), JsonPath{&at, "preparation", std::nullopt});
  in.each("metrics", [&](const Value& item, const JsonPath& metric_at) {
    JsonFields fields(errors, item, metric_at);
    command.metrics.push_back(readMetric(fields));
    fields.refuseOthers();
    if (command.metrics.back().from == From::Same) errors.add(metric_at, "whether two files are the same is no number");
    for (size_t i = 0; i + 1 < command.metrics.size(); ++i)
      if (command.metrics[i].name == command.metrics.back().name)
        errors.add(metric_at, "'" + command.metrics.back().name + "' is read twice");
  });
  in.refuseOthers();
  return command;
}

}  // namespace expc::plan
