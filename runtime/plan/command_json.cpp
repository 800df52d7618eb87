#include "runtime/plan/command_json.h"

#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

Object metricJson(const CommandMetric& metric) {
  return Object{{"name", jsonText(metric.name)}, {"from", words::name(words::kFrom, metric.from)},
                {"file", jsonText(metric.file)}, {"where", jsonText(metric.where)},
                {"scale", metric.scale},         {"series", metric.series}};
}

CommandMetric readMetric(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  CommandMetric metric;
  metric.name = in.string("name");
  metric.from = in.word<CommandMetric::From>("from", words::kFrom);
  metric.file = in.string("file");
  metric.where = in.string("where");
  metric.scale = in.number("scale");
  metric.series = in.boolean("series");
  if (metric.file.empty() && metric.from != CommandMetric::From::Regex)
    in.fail("file", "only a regex reads standard output");
  in.refuseOthers();
  return metric;
}

}  // namespace

Object toJson(const Command& command) {
  Array metrics;
  for (const CommandMetric& metric : command.metrics) metrics.push_back(metricJson(metric));
  Object object{{"arguments", jsonTexts(command.arguments)},
                {"inputs", jsonTexts(command.inputs)},
                {"metrics", std::move(metrics)}};
  if (command.timeout_seconds) object["timeout_seconds"] = *command.timeout_seconds;
  return object;
}

Command readCommand(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  Command command;
  command.arguments = in.strings("arguments");
  if (command.arguments.empty()) in.fail("arguments", "a command needs a program to run");
  if (in.has("timeout_seconds")) {
    command.timeout_seconds = in.number("timeout_seconds");
    if (*command.timeout_seconds <= 0) in.fail("timeout_seconds", "is not positive");
  }
  command.inputs = in.strings("inputs");
  in.each("metrics", [&](const Value& item, const JsonPath& metric_at) {
    command.metrics.push_back(readMetric(errors, item, metric_at));
    for (size_t i = 0; i + 1 < command.metrics.size(); ++i)
      if (command.metrics[i].name == command.metrics.back().name)
        errors.add(metric_at, "'" + command.metrics.back().name + "' is read twice");
  });
  in.refuseOthers();
  return command;
}

}  // namespace expc::plan
