// Decides how each metric of a command is read, and turns every problem into one line that names
// the metric and the file. Everything that can be checked before a program runs is checked in
// make().

#include "runtime/worker/command/metrics.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>

#include "runtime/base/entry.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/glob.h"
#include "runtime/base/files/words.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/trial_report.h"

namespace expc::command {
namespace {

using plan::CommandMetric;
using From = CommandMetric::From;
using Take = CommandMetric::Take;

/// The largest text that is read, in bytes. It is mapped, so it takes no memory of ours.
constexpr uint64_t kMostText = 4ull << 30;

/// An Error or Expected as it is, but an error says what is read and from where.
template <typename Tried>
Tried about(const std::string& what, const CommandMetric& read, Tried tried) {
  Error error = base::errorOf(tried);
  if (!error) return tried;
  const std::string source = read.file.empty() || read.file == kOutput ? "standard output"
                             : read.file == kErrors                    ? "standard error"
                                                                       : "'" + read.file + "'";
  return failure("{}, read from {}: {}", what, source, std::move(error));
}

template <typename Tried>
Tried about(const CommandMetric& metric, Tried tried) {
  return about(fmt::format("the metric {}", metric.name), metric, std::move(tried));
}

Error about(const plan::Expectation& expectation, Error error) {
  return about(fmt::format("expected {}", expectation.read.name), expectation.read, std::move(error));
}

/// Whether the path of a file leads outside the trial's folder.
bool leavesFolder(const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  return path.is_absolute() || *path.begin() == "..";
}

/// A measured value; null if it is zero. Every process takes time and memory, so a zero means that
/// the kernel did not count it. Energy, samples and what services yield are null here: the engine fills them in.
json::Value measuredOf(const std::string& metric, const ProgramEnd& end) {
  const plan::Outside* seen = plan::seenFromOutside(metric);
  if (!seen || seen->sampled || metric == kEnergy) return nullptr;
  const double value = metric == "wall"       ? end.wall_seconds
                       : metric == "cpu_time" ? end.cpu_seconds
                                              : double(end.peak_bytes);
  return value > 0 ? json::Value(value) : nullptr;
}

/// The path of the file that a metric is read from: with `*` in its name, the only file that matches.
Expected<std::string> pathOf(const CommandMetric& metric, const std::string& folder) {
  const std::string path = trialFile(metric.file.empty() ? kOutput : metric.file, folder);
  if (metric.file.find('*') == std::string::npos) return path;
  auto found = TRY(files::filesMatching(folder, metric.file, ""));
  if (found.empty()) return failure("the program did not write this file");
  if (found.size() == 1) return found.front();
  const auto name = [&](const std::filesystem::path& path) { return path.lexically_relative(folder).string(); };
  return failure("{} files match: {}", found.size(), base::firstOf(base::textsOf(found, name), 4));
}

/// The text to read a metric from, without colours unless the pattern wants to see them.
Expected<std::unique_ptr<llvm::MemoryBuffer>> textOf(const CommandMetric& metric, const std::string& folder) {
  auto path = TRY(pathOf(metric, folder));
  auto file = readFile(path, metric.from == From::Json ? kMostJson : kMostText);
  if (!file) return file;
  const StringRef text = (*file)->getBuffer(), where = metric.where;
  // Compressed or binary files; a pattern may still be meant for bytes.
  const auto form = files::formOf(text);
  if (!form.empty() && metric.from != From::Regex) return failure("it is {}", form);
  // A pattern that mentions escapes wants to see them.
  const bool named = where.contains_insensitive("x1b") || where.contains("\\e") || where.contains("033");
  if (!text.contains('\x1b') || (metric.from == From::Regex && named)) return file;
  return llvm::MemoryBuffer::getMemBufferCopy(files::withoutColours(text));
}

/// The number of values that `text` has where they are read.
Expected<uint64_t> countIn(StringRef text, const CommandMetric& metric, const Pattern* pattern) {
  if (pattern) return pattern->count(text);
  if (metric.from == From::Csv) return countColumn(text, metric.where);
  if (metric.from == From::Json) return countJson(text, metric.where);
  return llvm::count_if(llvm::split(text, '\n'), [](StringRef line) { return !line.trim().empty(); });
}

/// Whether the value is read as one of a table's row.
bool isColumn(const CommandMetric& metric) {
  return metric.row || !metric.group.empty() || !metric.part.empty() || !metric.units.empty();
}

/// Whether all values are wanted. Otherwise only the last needs to be a number.
bool readsAll(const CommandMetric& metric) {
  return metric.series || (metric.take && *metric.take != plan::Reduction(Take::Last));
}

}  // namespace

std::string trialFile(const std::string& file, const std::string& folder) {
  return file == kOutput || file == kErrors ? plan::outputOf(folder, file) : folder + "/" + file;
}

/// Checks one metric or expectation, and compiles its pattern if it has one.
Error MetricReader::prepare(const CommandMetric& metric, Pattern::Use use) {
  if (!metric.file.empty() && leavesFolder(metric.file)) return failure("a path inside the trial's folder is needed");
  if (isColumn(metric)) return rows_.prepare(metric);
  if (metric.from == From::Json) return checkPointer(metric.where);
  if (metric.from != From::Regex) return Error::success();
  auto pattern = TRY(Pattern::compile(metric.where, use));
  // Compiled once, before the program runs; its errors are the study's and not the program's.
  patterns_.emplace(metric.name, std::move(pattern));
  return Error::success();
}

Expected<MetricReader> MetricReader::make(const plan::Command& command, const std::vector<std::string>& asked) {
  MetricReader reader;
  reader.keys_ = command.inside;
  reader.rows_ = TRY(RowReader::make(command));
  for (const std::string& name : asked) {
    const CommandMetric* found = base::named(command.metrics, name);
    if (!found) {
      const bool of_service = std::ranges::any_of(
          command.services, [&](const plan::Service& service) { return service.command.ready->yields(name); });
      if (!plan::seenFromOutside(name) && !of_service)
        return failure("the metric {} has no `from regex(…)`, `json(…)` or `csv(…)`: without one a command yields {}",
                       name, plan::seenFromOutsideText());
      reader.measured_.push_back(name);
      continue;
    }
    const bool counts = found->take && found->take->take == Take::Count;
    TRY(about(*found, reader.prepare(*found, counts ? Pattern::Use::Match : Pattern::Use::Number)));
    reader.metrics_.push_back(*found);
  }
  for (const plan::Expectation& expectation : command.expectations) {
    const std::optional<plan::Reduction>& take = expectation.read.take;
    const bool number = expectation.bound && !(take && take->take == Take::Count);
    const auto use = number ? Pattern::Use::Number : Pattern::Use::Match;
    TRY(about(expectation, reader.prepare(expectation.read, use)));
    reader.expectations_.push_back(expectation);
  }
  return reader;
}

Expected<Values> MetricReader::columnOf(const CommandMetric& metric, StringRef text) const {
  auto rows = TRY(rows_.numbers(metric, text));
  Values values;
  for (const Values& row : rows) llvm::append_range(values, row);
  if (values.empty()) return noValue("it has no value");
  if (metric.from == From::Json && values.size() > 1 && !metric.series && !metric.take)
    return failure("it has {} values; say which of them is meant, as in `from median(…)` or `last(…)`", values.size());
  return values;
}

Expected<Values> MetricReader::valuesOf(const CommandMetric& metric, const std::string& folder,
                                        std::string* left) const {
  if (metric.from == From::Size) {
    auto path = TRY(pathOf(metric, folder));
    auto size = TRY(readSize(path));
    return Values{size};
  }
  auto file = TRY(textOf(metric, folder));
  const StringRef text = file->getBuffer();
  if (isColumn(metric)) return columnOf(metric, text);
  const Which which = readsAll(metric) ? Which::All : Which::Last;
  if (metric.from == From::Regex) return patterns_.at(metric.name).read(text, which, left);
  if (metric.from == From::Lines) return readLines(text, which);
  if (metric.from == From::Csv) return readColumn(text, metric.where, which);
  auto numbers = TRY(readJson(text, metric.where, which));
  if ((numbers.array || numbers.places > 1) && !metric.series && !metric.take)
    return failure(
        "at {} {}: declare the metric as `series`, or choose one number, as in `from median(json(…))` or `last(…)`",
        metric.where, numbers.places > 1 ? fmt::format("there are {} values", numbers.places) : "there is an array");
  return std::move(numbers.values);
}

Expected<double> MetricReader::valueOf(const CommandMetric& metric, const std::string& folder, Values* series,
                                       std::vector<plan::Note>* notes) const {
  if (metric.take && metric.take->take == Take::Count && !isColumn(metric)) {
    auto file = TRY(textOf(metric, folder));
    auto count = TRY(countIn(file->getBuffer(), metric, entryOf(patterns_, metric.name)));
    return double(plan::taken(count, *metric.take));
  }
  std::string left;
  auto values = TRY(valuesOf(metric, folder, &left));
  if (notes && !left.empty()) notes->emplace_back(plan::Note::ReadBefore, metric.name, 0, left);
  // A series is shown as one number in some places; its last value stands for it there.
  const plan::Reduction reduction = metric.take.value_or(Take::Last);
  if (const auto few = plan::fewValues(metric.name, values.size(), reduction); notes && few) notes->push_back(*few);
  const std::optional<double> value = plan::reduced(values, reduction);
  if (!value) return noValue(fmt::format("it has {} values, but skip = {} leaves none", values.size(), reduction.skip));
  if (series) {
    for (double& one : values) one *= metric.scale;
    *series = std::move(values);
    if (metric.distribution) return sketched(metric, *series);
  }
  return *value * metric.scale;
}

namespace {

/// The names that a program reported by `import expc`, which the last line of its file lists; nothing without one.
std::optional<std::vector<std::string>> reportedIn(const std::string& folder) {
  const auto last = lastObject(folder + "/" + plan::kTrialFile);
  const json::Array* listed = last ? last->getArray("expc") : nullptr;
  if (!listed) return std::nullopt;
  std::vector<std::string> names;
  for (const json::Value& name : *listed)
    if (const auto own = name.getAsString()) names.push_back(own->str());
  return names;
}

/// Checks that a program reported a metric of `from trial`, if only that it has no value (None).
Error checkReported(const CommandMetric& metric, const std::string& folder) {
  const auto names = reportedIn(folder);
  if (!names)
    return failure(
        "the metric {} is read from what the program reports, and it reported nothing: it has to `import "
        "expc`, to call expc.trial(), and to end by itself",
        metric.name);
  if (is_contained(*names, metric.name)) return Error::success();
  return failure("the program never reports the metric {}; it reports {}", metric.name,
                 names->empty() ? "none" : base::joined(*names, ", "));
}

}  // namespace

Error MetricReader::verifyOne(const plan::Expectation& expectation, const std::string& folder,
                              const std::string& root) const {
  const CommandMetric& read = expectation.read;
  if (expectation.bound) {
    auto value = TRY(valueOf(read, folder));
    // The bound applies to the scaled value, but the message shows the number as the program wrote
    // it.
    if (std::isfinite(value) && plan::satisfies(*expectation.bound, value, value)) return Error::success();
    return failure("it is {}", value / read.scale);
  }
  if (read.from == From::Same) {
    auto path = TRY(pathOf(read, folder));
    return compareFiles(path, (std::filesystem::path(root) / read.where).string(), kMostText);
  }
  auto file = TRY(textOf(read, folder));
  const StringRef text = file->getBuffer();
  return read.from == From::Json ? readTruth(text, read.where) : patterns_.at(read.name).match(text);
}

Error MetricReader::verify(const std::string& folder, const std::string& root,
                           const std::function<void(const CommandMetric&)>& next) const {
  for (const plan::Expectation& expectation : expectations_) {
    next(expectation.read);
    TRY(about(expectation, verifyOne(expectation, folder, root)));
  }
  return Error::success();
}

Error MetricReader::read(const std::string& folder, const ProgramEnd& end, protocol::Event& result,
                         const std::function<void(const CommandMetric&)>& next) const {
  for (const std::string& name : measured_) result.metrics[name] = measuredOf(name, end);
  for (const CommandMetric& metric : metrics_) {
    if (metric.row) continue;
    next(metric);
    Values series;
    auto value = valueOf(metric, folder, &series, &result.notes);
    bool none = !value && metric.optional && value.errorIsA<NoValue>();
    if (!value && !none && metric.file == plan::kTrialFile) {
      if (auto error = checkReported(metric, folder)) return consumeError(value.takeError()), std::move(error);
      none = value.errorIsA<NoValue>();
    }
    if (!value && !none) return about(metric, value.takeError());
    consumeError(value.takeError());
    result.metrics[metric.name] = none ? json::Value(nullptr) : json::Value(*value);
    if (none || !metric.series) continue;
    result.series[metric.name] = json::Array(series);
  }
  return readRows(folder, result, next);
}

Error MetricReader::readRows(const std::string& folder, protocol::Event& result,
                             const std::function<void(const CommandMetric&)>& next) const {
  std::vector<std::string> keys;
  for (const CommandMetric& metric : metrics_) {
    if (!metric.row) continue;
    next(metric);
    auto file = TRY(about(metric, textOf(metric, folder)));
    const StringRef text = file->getBuffer();
    if (keys.empty())
      keys = TRY(about(fmt::format("the parameter {}", keys_.front().name), keys_.front(), rows_.keys(text)));
    auto values = TRY(about(metric, rows_.read(metric, text, keys)));
    for (auto& [key, value] : values) {
      json::Object& row =
          *result.rows.try_emplace(key, json::Object{{"metrics", json::Object()}}).first->second.getAsObject();
      (*row.getObject("metrics"))[metric.name] = value.value ? json::Value(*value.value) : nullptr;
      if (!value.value || !metric.series) continue;
      json::Object* series = row.getObject("series");
      if (!series) series = (row["series"] = json::Object()).getAsObject();
      (*series)[metric.name] = json::Array(value.series);
    }
  }
  return Error::success();
}

}  // namespace expc::command
