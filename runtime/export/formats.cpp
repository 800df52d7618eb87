#include "runtime/export/formats.h"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"
#include "runtime/files/marks.h"
#include "runtime/plan/json.h"
#include "runtime/report/assets.h"
#include "runtime/report/python.h"
#include "runtime/report/records_json.h"

namespace expc::exports {
namespace {

constexpr report::Package kWriter{"pyarrow", "parquet", "--format csv does without"};
constexpr report::Package kReader{"pyarrow", "parquet", "JSON lines and CSV do without"};
constexpr unsigned kReadSeconds = 24 * 60 * 60;  // a download may have hundreds of millions of rows

void putText(llvm::raw_ostream& out, std::string_view text, bool formulas) {
  std::string fixed = llvm::json::isUTF8(text) ? "" : llvm::json::fixUTF8(text);
  // These characters begin a formula, by OWASP's list.
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

struct JsonValue {
  llvm::json::OStream& out;
  llvm::StringRef name;
  void operator()(std::monostate) const {}
  void operator()(UnixTime value) const { out.attribute(name, timeText(value)); }
  void operator()(auto value) const { out.attribute(name, report::json(value)); }
};

/// Describes the content of the columns.
llvm::json::Array described(const Table& table) {
  llvm::json::Array array;
  for (const Column& column : table.columns) array.push_back(EXPC_FIELDS(column.name, column.type, column.what));
  return array;
}

/// An array of objects, a line each.
void writeRows(const Table& table, llvm::raw_ostream& out) {
  out << "\"" << table.name << "\": [";
  const char* before = "\n";
  table.rows([&](Row cells) {
    out << std::exchange(before, ",\n");
    llvm::json::OStream object(out);
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
  llvm::json::Object columns{{measured.name, described(measured)}, {values.name, described(values)}};
  out << "{\"schema\": \"" << files::kExportSchema << "\",\n\"columns\": " << plan::canonicalJson(std::move(columns))
      << ",\n";
  writeRows(measured, out);
  writeRows(values, out);
  out << "\"reports\": [";
  for (size_t i = 0; i < sources.size(); ++i) {
    out << (i > 0 ? ",\n" : "\n") << plan::canonicalJson(report::resultJson(sources[i].findings()));
  }
  out << "]}\n";
}

llvm::Error writeParquet(const std::string& path, const Table& table) {
  // The input of assets/write_parquet.py: the columns in one line, then CSV.
  const auto feed = [&](llvm::raw_ostream& in) {
    llvm::json::Object about{{"schema", files::kExportSchema}, {"table", table.name}, {"columns", described(table)}};
    in << plan::canonicalJson(std::move(about)) << '\n';
    writeCsv(table, in);
  };
  llvm::Error error = files::writeBy(path, [&](const std::string& temporary) {
    return report::runPython(report::assets::parquetScript(), {temporary}, feed, kWriter, path);
  });
  return llvm::handleErrors(std::move(error), [](const llvm::ErrorInfoBase& one) {
    const bool lacks = one.convertToErrorCode() == report::kLacksPackage;
    return base::failure("cannot write {}{}", one.message(), lacks ? "" : "; name another file with --to FILE");
  });
}

llvm::Error parquetTexts(const std::string& path, const std::string& lines, int64_t most) {
  return report::runPython(
      report::assets::parquetTextsScript(), {path, lines, std::to_string(most)}, [](llvm::raw_ostream&) {}, kReader,
      path, kReadSeconds);
}

}  // namespace expc::exports
