#include "runtime/worker/command/rows.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/command.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/sketch.h"

namespace expc::command {
namespace {

using plan::CommandMetric;
using From = CommandMetric::From;
using Take = CommandMetric::Take;

/// Units that programs write beside a number, or behind it as fio does, in base units.
std::optional<double> unitOf(StringRef word) {
  static constexpr std::pair<llvm::StringLiteral, double> kUnits[] = {
      {"ns", 1e-9},   {"us", 1e-6},  {"ms", 1e-3},   {"s", 1},      {"", 1},        {"b", 1},      {"k", 0x1p10},
      {"kb", 0x1p10}, {"m", 0x1p20}, {"mb", 0x1p20}, {"g", 0x1p30}, {"gb", 0x1p30}, {"t", 0x1p40}, {"tb", 0x1p40}};
  for (const auto& [name, unit] : kUnits)
    if (word.equals_insensitive(name)) return unit;
  return std::nullopt;
}

/// Splits "4k" into the number and the word behind it.
std::pair<StringRef, StringRef> splitUnit(StringRef text) {
  const size_t end = text.find_last_of("0123456789.") + 1;
  return {text.take_front(end), text.drop_front(end).trim()};
}

bool isArray(const CommandMetric& metric) { return metric.series || metric.take; }

}  // namespace

double sketched(const CommandMetric& metric, Values& values) {
  values = plan::sketchOf(plan::takenOf(values, metric.take.value_or(Take::Last)));
  return plan::reducedSketch(values, Take::Median).value_or(0);
}

Expected<RowReader> RowReader::make(const plan::Command& command) {
  RowReader reader;
  reader.inside_ = command.inside;
  for (const CommandMetric& key : command.inside) TRY(reader.prepare(key));
  return reader;
}

Error RowReader::prepare(const CommandMetric& metric) {
  if (metric.from == From::Json) TRY(checkPointer(metric.where));
  const std::string whole = metric.from == From::Regex ? metric.where : "";
  for (const std::string& text : {whole, metric.part}) {
    if (text.empty()) continue;
    auto pattern = TRY(Pattern::compile(text, Pattern::Use::Rows));
    patterns_.emplace(text, std::move(pattern));
  }
  return Error::success();
}

Expected<RowTexts> RowReader::texts(const CommandMetric& column, const std::string& where, StringRef text,
                                    bool number) const {
  const std::string_view table = plan::rowsIn(inside_.empty() || !column.row ? column.where : inside_.front().where);
  auto rows = column.from == From::Regex ? patterns_.at(where).rows(text, column.group, number && column.part.empty())
              : column.from == From::Csv ? columnRows(text, where)
                                         : jsonRows(text, table, where);
  if (!rows || column.part.empty()) return rows;
  // A part that is not there is as if nothing were.
  for (std::vector<std::string>& row : *rows) {
    for (std::string& one : row) {
      const auto part = expectedToOptional(patterns_.at(column.part).rows(one, "part", false));
      one = part && !part->front().empty() ? part->front().front() : "";
    }
    std::erase(row, "");
  }
  return rows;
}

Expected<std::vector<Values>> RowReader::numbers(const CommandMetric& column, StringRef text) const {
  auto rows = TRY(texts(column, column.where, text, true));
  const bool beside = !column.units.empty() && column.units != ".";
  auto units = TRY(beside ? texts(column, column.units, text, false) : RowTexts());
  std::vector<Values> values(rows.size());
  for (size_t row = 0; row < rows.size(); ++row)
    for (const std::string& written : rows[row]) {
      auto [digits, word] = column.units == "." ? splitUnit(written) : std::pair(StringRef(written), StringRef());
      if (beside && row < units.size() && !units[row].empty()) word = units[row].front();
      const std::optional<double> unit = unitOf(word);
      if (!unit) return failure("row {}: '{}' is not a unit", row + 1, excerpt(word));
      auto number = readNumber(digits);
      if (!number && !number.errorIsA<NoValue>()) return within(fmt::format("row {}: ", row + 1), number.takeError());
      if (number) values[row].push_back(*number * *unit);
      consumeError(number.takeError());
    }
  return values;
}

Expected<std::vector<std::string>> RowReader::keys(StringRef text) const {
  std::vector<std::vector<std::string>> parts;  // by row
  for (const CommandMetric& key : inside_) {
    const std::string of = &key == &inside_.front() ? "" : key.name + ": ";  // the caller names the first
    RowTexts column;
    if (key.text) {
      if (auto error = texts(key, key.where, text, false).moveInto(column)) return within(of, std::move(error));
    } else {
      auto values = numbers(key, text);
      if (!values) return within(of, values.takeError());
      for (const Values& row : *values) {
        column.emplace_back();
        for (const double value : row) column.back().push_back(plan::rowPart(key, value));
      }
    }
    parts.resize(std::max(parts.size(), column.size()));
    for (size_t row = 0; row < column.size(); ++row) {
      if (column[row].size() > 1) return failure("row {} names {} levels of {}", row + 1, column[row].size(), key.name);
      if (!column[row].empty()) parts[row].push_back(std::move(column[row].front()));
    }
  }
  std::vector<std::string> keys;
  for (const std::vector<std::string>& row : parts)
    keys.push_back(row.size() == inside_.size() ? plan::rowKey(row) : "");
  if (keys.empty()) return failure("it has no rows");
  if (std::ranges::all_of(keys, &std::string::empty)) return failure("no row says its {}", inside_.front().name);
  return keys;
}

Expected<std::map<std::string, RowValue>> RowReader::read(const CommandMetric& metric, StringRef text,
                                                          const std::vector<std::string>& keys) const {
  const bool counts = metric.take && metric.take->take == Take::Count;
  std::vector<Values> rows;
  if (counts) {
    auto column = TRY(texts(metric, metric.where, text, false));
    for (const std::vector<std::string>& row : column) rows.emplace_back(row.size());
  } else {
    rows = TRY(numbers(metric, text));
  }
  std::map<std::string, Values> all;
  std::map<std::string, size_t> seen;  // the row of a key
  for (size_t row = 0; row < std::min(rows.size(), keys.size()); ++row) {
    if (keys[row].empty()) continue;
    Values& values = all[keys[row]];
    if (const auto [first, fresh] = seen.try_emplace(keys[row], row); !fresh && !isArray(metric))
      return failure("rows {} and {} are both of {} = {}; say which number is meant, as in `from median(…)`",
                     first->second + 1, row + 1, inside_.front().name, keys[row]);
    if (rows[row].size() > 1 && !isArray(metric))
      return failure("row {} has {} values; say which is meant, as in `from median(…)`", row + 1, rows[row].size());
    llvm::append_range(values, rows[row]);
  }
  std::map<std::string, RowValue> result;
  for (auto& [key, values] : all) {
    RowValue& found = result[key];
    found.value = counts ? std::optional(double(plan::taken(values.size(), *metric.take)))
                         : plan::reduced(values, metric.take.value_or(Take::Last));
    if (found.value && !counts) *found.value *= metric.scale;
    for (double& value : values) value *= metric.scale;
    if (!metric.series) continue;
    if (metric.distribution && found.value) found.value = sketched(metric, values);
    found.series = std::move(values);
  }
  return result;
}

}  // namespace expc::command
