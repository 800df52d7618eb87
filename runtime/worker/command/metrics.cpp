// Decides how each metric of a command is read, and turns every problem into one line that names
// the metric and the file. Everything that can be checked before a program runs is checked in
// make().

#include "runtime/worker/command/metrics.h"

#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "runtime/base/files/files.h"
#include "runtime/base/files/words.h"
#include "runtime/plan/evaluate.h"

namespace expc::command {
namespace {

using plan::CommandMetric;
using From = CommandMetric::From;
using Take = CommandMetric::Take;

/// The largest text that is read, in bytes. It is mapped, so it takes no memory of ours.
constexpr uint64_t kMostText = 4ull << 30;
/// A parsed document takes some twenty times its text in memory.
constexpr uint64_t kMostJson = 64ull << 20;

/// Adds to an error what is read and from where.
llvm::Error about(const std::string& what, const CommandMetric& read, llvm::Error error) {
  const std::string source = read.file.empty() || read.file == kOutput ? "standard output"
                             : read.file == kErrors                    ? "standard error"
                                                                       : "'" + read.file + "'";
  return failure("{}, read from {}: {}", what, source, llvm::toString(std::move(error)));
}

llvm::Error about(const CommandMetric& metric, llvm::Error error) {
  return about("the metric " + metric.name, metric, std::move(error));
}

llvm::Error about(const plan::Expectation& expectation, llvm::Error error) {
  return about("expected " + expectation.read.name, expectation.read, std::move(error));
}

/// Whether the path of a file leads outside the trial's folder.
bool leavesFolder(const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  return path.is_absolute() || *path.begin() == "..";
}

/// A measured value; null if it is zero. Every process takes time and memory, so a zero means that
/// the kernel did not count it. Energy is always null here: the engine fills it in.
llvm::json::Value measuredOf(const std::string& metric, const ProgramEnd& end) {
  if (metric == kEnergy) return nullptr;
  const double value = metric == "wall"       ? end.wall_seconds
                       : metric == "cpu_time" ? end.cpu_seconds
                                              : static_cast<double>(end.peak_bytes);
  return value > 0 ? llvm::json::Value(value) : nullptr;
}

std::string pathOf(const CommandMetric& metric, const std::string& folder) {
  return trialFile(metric.file.empty() ? kOutput : metric.file, folder);
}

/// The text to read a metric from, without colours unless the pattern wants to see them.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> textOf(const CommandMetric& metric, const std::string& folder) {
  auto file = readFile(pathOf(metric, folder), metric.from == From::Json ? kMostJson : kMostText);
  if (!file) return file;
  const llvm::StringRef text = (*file)->getBuffer(), where = metric.where;
  // Compressed or binary files; a pattern may still be meant for bytes.
  const auto form = files::formOf(text);
  if (!form.empty() && metric.from != From::Regex) return failure("it is {}", form);
  // A pattern that mentions escapes wants to see them.
  const bool named = where.contains_insensitive("x1b") || where.contains("\\e") || where.contains("033");
  if (!text.contains('\x1b') || (metric.from == From::Regex && named)) return file;
  return llvm::MemoryBuffer::getMemBufferCopy(files::withoutColours(text));
}

/// The median, mean, smallest, largest, or sum. If one value is not finite, so is the result: NaN,
/// for "diverged".
double reduced(Values values, Take take) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return std::nan("");
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const size_t half = values.size() / 2;
  switch (take) {
    case Take::Median:
      return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
    case Take::Mean:
      return sum / static_cast<double>(values.size());
    case Take::Min:
      return values.front();
    case Take::Max:
      return values.back();
    default:
      return sum;
  }
}

}  // namespace

std::string trialFile(const std::string& file, const std::string& folder) {
  return file == kOutput || file == kErrors ? plan::outputOf(folder, file) : folder + "/" + file;
}

bool isMeasured(const std::string& metric) {
  return metric == "wall" || metric == "cpu_time" || metric == "host_memory_peak" || metric == kEnergy;
}

/// Checks one metric or expectation, and compiles its pattern if it has one.
llvm::Error MetricReader::prepare(const CommandMetric& metric, Pattern::Use use) {
  if (!metric.file.empty() && leavesFolder(metric.file)) return failure("a path inside the trial's folder is needed");
  if (metric.from == From::Json) return checkPointer(metric.where);
  if (metric.from != From::Regex) return llvm::Error::success();
  auto pattern = Pattern::compile(metric.where, use);
  if (!pattern) return pattern.takeError();
  // Compiled once, before the program runs; its errors are the study's and not the program's.
  patterns_.emplace(metric.name, std::move(*pattern));
  return llvm::Error::success();
}

llvm::Expected<MetricReader> MetricReader::make(const plan::Command& command, const std::vector<std::string>& asked) {
  MetricReader reader;
  for (const std::string& name : asked) {
    const auto found = std::find_if(command.metrics.begin(), command.metrics.end(),
                                    [&](const CommandMetric& metric) { return metric.name == name; });
    if (found == command.metrics.end()) {
      if (!isMeasured(name))
        return failure(
            "the metric {} has no `from regex(…)`, `json(…)` or `csv(…)`: without one a command yields wall, "
            "cpu_time, host_memory_peak and energy",
            name);
      reader.measured_.push_back(name);
      continue;
    }
    if (auto error = reader.prepare(*found, Pattern::Use::Number)) return about(*found, std::move(error));
    reader.metrics_.push_back(*found);
  }
  for (const plan::Expectation& expectation : command.expectations) {
    const auto use = expectation.bound ? Pattern::Use::Number : Pattern::Use::Match;
    if (auto error = reader.prepare(expectation.read, use)) return about(expectation, std::move(error));
    reader.expectations_.push_back(expectation);
  }
  return reader;
}

llvm::Expected<Values> MetricReader::valuesOf(const CommandMetric& metric, const std::string& folder,
                                              std::string* left) const {
  if (metric.from == From::Size) {
    auto size = readSize(pathOf(metric, folder));
    if (!size) return size.takeError();
    return Values{*size};
  }
  auto file = textOf(metric, folder);
  if (!file) return file.takeError();
  const llvm::StringRef text = (*file)->getBuffer();
  // `take` and series want all values; anything else wants the last, so that only that one must be
  // a number.
  const bool all = metric.series || (metric.take && *metric.take != Take::Last);
  const Which which = all ? Which::All : Which::Last;
  if (metric.from == From::Regex) return patterns_.at(metric.name).read(text, which, left);
  if (metric.from == From::Lines) return readLines(text, which);
  if (metric.from == From::Csv) return readColumn(text, metric.where, which);
  auto numbers = readJson(text, metric.where, which);
  if (!numbers) return numbers.takeError();
  if (numbers->array && !metric.series && !metric.take)
    return failure(
        "at {} is an array; a metric with the trait `series` takes one, or say which of its numbers is meant, as in "
        "`from median(json(…))` or `last(…)`",
        metric.where);
  return std::move(numbers->values);
}

double MetricReader::valueOf(const CommandMetric& metric, Values values) {
  const bool last = metric.series || !metric.take || *metric.take == Take::Last;
  return (last ? values.back() : reduced(std::move(values), *metric.take)) * metric.scale;
}

llvm::Error MetricReader::verifyOne(const plan::Expectation& expectation, const std::string& folder,
                                    const std::string& root) const {
  const CommandMetric& read = expectation.read;
  if (expectation.bound) {
    auto values = valuesOf(read, folder);
    if (!values) return values.takeError();
    const double value = valueOf(read, std::move(*values));
    // The bound applies to the scaled value, but the message shows the number as the program wrote
    // it.
    if (std::isfinite(value) && plan::satisfies(*expectation.bound, value, value)) return llvm::Error::success();
    return failure("it is {}", value / read.scale);
  }
  if (read.from == From::Same)
    return compareFiles(pathOf(read, folder), (std::filesystem::path(root) / read.where).string(), kMostText);
  auto file = textOf(read, folder);
  if (!file) return file.takeError();
  const llvm::StringRef text = (*file)->getBuffer();
  return read.from == From::Json ? readTruth(text, read.where) : patterns_.at(read.name).match(text);
}

llvm::Error MetricReader::verify(const std::string& folder, const std::string& root,
                                 const std::function<void(const CommandMetric&)>& next) const {
  for (const plan::Expectation& expectation : expectations_) {
    next(expectation.read);
    if (auto error = verifyOne(expectation, folder, root)) return about(expectation, std::move(error));
  }
  return llvm::Error::success();
}

llvm::Error MetricReader::read(const std::string& folder, const ProgramEnd& end, protocol::Event& result,
                               const std::function<void(const CommandMetric&)>& next) const {
  for (const std::string& name : measured_) result.metrics[name] = measuredOf(name, end);
  for (const CommandMetric& metric : metrics_) {
    next(metric);
    std::string left;
    auto values = valuesOf(metric, folder, &left);
    if (!values) return about(metric, values.takeError());
    if (!left.empty()) result.notes.emplace_back(plan::Note::ReadBefore, metric.name, 0, left);
    // A series is shown as one number in some places; its last value stands for it there.
    result.metrics[metric.name] = valueOf(metric, *values);
    if (!metric.series) continue;
    for (double& one : *values) one *= metric.scale;
    result.series[metric.name] = llvm::json::Array(*values);
  }
  return llvm::Error::success();
}

}  // namespace expc::command
