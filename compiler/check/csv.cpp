#include "compiler/check/csv.h"

#include <csv.h>
#include <fmt/format.h>

namespace expc::check {
namespace {

struct Rows {
  std::vector<std::vector<std::string>> done;
  std::vector<std::string> open;
};

void addCell(void* text, size_t size, void* rows) {
  static_cast<Rows*>(rows)->open.emplace_back(static_cast<const char*>(text), size);
}
void endRow(int, void* target) {
  Rows& rows = *static_cast<Rows*>(target);
  rows.done.push_back(std::move(rows.open));
  rows.open.clear();
}

}  // namespace

std::optional<std::vector<std::vector<std::string>>> readCsv(std::string_view text, std::string& problem) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
    problem = "no memory";
    return std::nullopt;
  }
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);  // what Excel puts first
  Rows rows;
  size_t read = csv_parse(&parser, text.data(), text.size(), addCell, endRow, &rows);
  if (read < text.size())
    problem = fmt::format("row {}: a quote stands inside a cell", rows.done.size() + 1);
  else if (csv_fini(&parser, addCell, endRow, &rows) != 0)
    problem = "its last quote is never closed";
  csv_free(&parser);
  if (!problem.empty()) return std::nullopt;
  return std::move(rows.done);
}

}  // namespace expc::check
