#include "runtime/worker/command/metrics.h"

#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace expc::command {
namespace {

using plan::CommandMetric;

constexpr uint64_t kMostText = 4ull << 30;
constexpr uint64_t kMostJson = 64ull << 20;  // a parsed document takes some twenty times its text

std::string sourceOf(const CommandMetric& metric) {
  return metric.file.empty() ? "standard output" : "'" + metric.file + "'";
}

llvm::Error about(const CommandMetric& metric, llvm::Error error) {
  return llvm::createStringError(
      fmt::format("the metric {}, read from {}: {}", metric.name, sourceOf(metric), llvm::toString(std::move(error))));
}

bool leavesFolder(const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  return path.is_absolute() || *path.begin() == "..";
}

double measuredOf(const std::string& metric, const ProgramEnd& end) {
  if (metric == "wall") return end.wall_seconds;
  return metric == "cpu_time" ? end.cpu_seconds : static_cast<double>(end.peak_bytes);
}

}  // namespace

bool isMeasured(const std::string& metric) {
  return metric == "wall" || metric == "cpu_time" || metric == "host_memory_peak";
}

llvm::Expected<MetricReader> MetricReader::make(const plan::Command& command, const std::vector<std::string>& asked) {
  MetricReader reader;
  for (const std::string& name : asked) {
    const auto found = std::find_if(command.metrics.begin(), command.metrics.end(),
                                    [&](const CommandMetric& metric) { return metric.name == name; });
    if (found == command.metrics.end()) {
      if (!isMeasured(name))
        return llvm::createStringError(fmt::format(
            "the metric {} has no `from regex(…)`, `json(…)` or `csv(…)`: without one a command yields wall, "
            "cpu_time and host_memory_peak",
            name));
      reader.measured_.push_back(name);
      continue;
    }
    if (!found->file.empty() && leavesFolder(found->file))
      return about(*found, llvm::createStringError("a path inside the trial's folder is needed"));
    if (found->from == CommandMetric::From::Regex) {
      auto pattern = Pattern::compile(found->where);
      if (!pattern) return about(*found, pattern.takeError());
      reader.patterns_.emplace(name, std::move(*pattern));
    } else if (found->from == CommandMetric::From::Json) {
      if (auto error = checkPointer(found->where)) return about(*found, std::move(error));
    }
    reader.metrics_.push_back(*found);
  }
  return reader;
}

llvm::Expected<Values> MetricReader::valuesOf(const CommandMetric& metric, const std::string& folder) const {
  const bool json = metric.from == CommandMetric::From::Json;
  auto file = readFile(folder + "/" + (metric.file.empty() ? kOutput : metric.file), json ? kMostJson : kMostText);
  if (!file) return file.takeError();
  const llvm::StringRef text = (*file)->getBuffer();
  const Which which = metric.series ? Which::All : Which::Last;
  if (metric.from == CommandMetric::From::Regex) return patterns_.at(metric.name).read(text, which);
  if (!json) return readColumn(text, metric.where, which);
  auto numbers = readJson(text, metric.where);
  if (!numbers) return numbers.takeError();
  if (numbers->array && !metric.series)
    return llvm::createStringError(fmt::format("at {} is an array; a metric of type Series takes one", metric.where));
  return std::move(numbers->values);
}

llvm::Error MetricReader::read(const std::string& folder, const ProgramEnd& end, plan::Event& result,
                               const std::function<void(const CommandMetric&)>& next) const {
  for (const std::string& name : measured_) result.metrics[name] = measuredOf(name, end);
  for (const CommandMetric& metric : metrics_) {
    next(metric);
    auto values = valuesOf(metric, folder);
    if (!values) return about(metric, values.takeError());
    for (double& value : *values) {
      value *= metric.scale;
      if (!std::isfinite(value)) return about(metric, llvm::createStringError("in base units it is not finite"));
    }
    // Of a series the last value stands for the whole where one number is shown.
    result.metrics[metric.name] = values->back();
    if (metric.series) result.series[metric.name] = llvm::json::Array(*values);
  }
  return llvm::Error::success();
}

}  // namespace expc::command
