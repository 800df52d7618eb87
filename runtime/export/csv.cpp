#include "runtime/export/csv.h"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>

namespace expc::exports {
namespace {

void putText(llvm::raw_ostream& out, std::string_view text) {
  const std::string fixed = llvm::json::isUTF8(text) ? "" : llvm::json::fixUTF8(text);
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
  void operator()(std::monostate) const {}
  void operator()(std::string_view text) const { putText(out, text); }
  void operator()(int64_t value) const { out << value; }
  void operator()(double value) const { out << fmt::format("{}", value); }
  void operator()(bool value) const { out << (value ? "true" : "false"); }
  void operator()(UnixTime value) const { out << timeText(value); }
};

}  // namespace

void CsvSink::begin(std::string_view, const std::vector<Column>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out_ << ',';
    putText(out_, columns[i].name);
  }
  out_ << '\n';
}

void CsvSink::row(Row cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out_ << ',';
    std::visit(CsvValue{out_}, cells[i]);
  }
  out_ << '\n';
}

}  // namespace expc::exports
