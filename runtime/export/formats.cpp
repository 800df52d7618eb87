// CSV, JSON and Parquet of the two tables. Rows are written as they come, so that an export of millions of values needs
// no memory for them. Parquet is written by a Python script, which gets CSV on its input: no library for it is linked,
// and few exports want it.

#include "runtime/export/formats.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/marks.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/export/python.h"
#include "runtime/report/records_json.h"

namespace expc::exports {
namespace {

/// The Python package, what it is needed for, and the way out for a message.
constexpr Package kWriter{"pyarrow", "parquet", "--format csv does not need it"};
constexpr Package kReader{"pyarrow", "parquet", "JSON lines and CSV do not need it"};
/// Time limit for reading Parquet: a download may have hundreds of millions of rows.
constexpr unsigned kReadSeconds = 24 * 60 * 60;

/// Writes a field of CSV, quoted only if it must be. An empty text is quoted: an empty field means no value.
void putText(llvm::raw_ostream& out, std::string_view text, bool formulas) {
  std::string fixed = json::isUTF8(text) ? "" : json::fixUTF8(text);
  // These characters begin a formula in a spreadsheet, by OWASP's list on CSV injection.
  if (!formulas && !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos)
    fixed = "'" + (fixed.empty() ? std::string(text) : fixed);
  const std::string_view whole = fixed.empty() ? text : fixed;
  if (!whole.empty() && whole.find_first_of(",\"\r\n") == std::string_view::npos) {
    out << whole;
    return;
  }
  out << '"';
  for (const char c : whole) {
    if (c == '"') out << '"';
    out << c;
  }
  out << '"';
}

/// Writes a cell of CSV, by its type.
struct CsvValue {
  llvm::raw_ostream& out;
  bool formulas;
  void operator()(std::monostate) const {}
  void operator()(std::string_view text) const { putText(out, text, formulas); }
  /// Readers that guess a column's type by its first rows must not take it for one of integers.
  void operator()(double value) const {
    std::string text = fmt::format("{}", value);
    if (std::isfinite(value) && text.find('.') == std::string::npos)
      text.insert(std::min(text.find('e'), text.size()), ".0");
    out << text;
  }
  void operator()(UnixTime value) const { out << timeText(value); }
  void operator()(auto value) const { out << fmt::format("{}", value); }
};

/// Writes a cell as a member of a JSON object, if it has a value.
struct JsonValue {
  json::OStream& out;
  StringRef name;
  void operator()(std::monostate) const {}
  void operator()(UnixTime value) const { out.attribute(name, timeText(value)); }
  void operator()(double value) const { out.attribute(name, base::jsonNumber(value)); }
  void operator()(std::string_view value) const { out.attribute(name, jsonText(value)); }
  void operator()(auto value) const { out.attribute(name, value); }
};

/// Returns name, type and description of each column.
json::Array described(const Table& table) {
  json::Array array;
  for (const Column& column : table.columns)
    array.push_back(base::record("name", column.name, "type", std::string(toString(column.type)), "what", column.what));
  return array;
}

/// Writes the rows of a table as a JSON array, one object a line, so that line tools can work on it.
void writeRows(const Table& table, llvm::raw_ostream& out) {
  out << "\"" << table.name << "\": [";
  const char* before = "\n";
  table.rows([&](Row cells) {
    out << std::exchange(before, ",\n");
    json::OStream object(out);
    object.object([&] {
      for (size_t i = 0; i < cells.size(); ++i) std::visit(JsonValue{object, table.columns[i].name}, cells[i]);
    });
  });
  out << "],\n";
}

}  // namespace

void writeCsv(const Table& table, llvm::raw_ostream& out, bool formulas) {
  const auto line = [&](const auto& cells, const auto& put) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out << ',';
      put(cells[i]);
    }
    out << '\n';
  };
  line(table.columns, [&](const Column& column) { putText(out, column.name, formulas); });
  table.rows([&](Row cells) { line(cells, [&](const Cell& cell) { std::visit(CsvValue{out, formulas}, cell); }); });
}

void writeJson(std::span<const Source> sources, llvm::raw_ostream& out) {
  const Table measured = measurements(sources), values = series(sources);
  json::Object columns{{measured.name, described(measured)}, {values.name, described(values)}};
  out << "{\"schema\": \"" << files::kExportSchema << "\",\n\"columns\": " << canonicalJson(std::move(columns))
      << ",\n";
  writeRows(measured, out);
  writeRows(values, out);
  out << "\"reports\": [";
  // A report for each study, after the tables that all studies share.
  for (size_t i = 0; i < sources.size(); ++i) {
    out << (i > 0 ? ",\n" : "\n") << canonicalJson(report::resultJson(sources[i].findings()));
  }
  out << "]}\n";
}

Error writeParquet(const std::string& path, const Table& table) {
  // The input of assets/write_parquet.py: the description of the columns in one line of JSON, then CSV with all
  // formulas as they are.
  const auto feed = [&](llvm::raw_ostream& in) {
    json::Object about{{"schema", files::kExportSchema}, {"table", table.name}, {"columns", described(table)}};
    in << canonicalJson(std::move(about)) << '\n';
    writeCsv(table, in);
  };
  // Python writes beside the target under a temporary name, which is renamed once it has succeeded.
  Error error = files::writeBy(path, [&](const std::string& temporary) {
    return runPython(assets::parquetScript(), {temporary}, feed, kWriter, path);
  });
  return llvm::handleErrors(std::move(error), [](const llvm::ErrorInfoBase& one) {
    // Another file name does not help a missing package.
    const bool lacks = one.convertToErrorCode() == kLacksPackage;
    return failure("cannot write {}{}", one.message(), lacks ? "" : "; name another file with --to FILE");
  });
}

Error parquetTexts(const std::string& path, const std::string& lines, int64_t most) {
  return runPython(
      assets::parquetTextsScript(), {path, lines, std::to_string(most)}, [](llvm::raw_ostream&) {}, kReader, path,
      kReadSeconds);
}

}  // namespace expc::exports
