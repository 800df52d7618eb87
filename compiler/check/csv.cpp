#include "compiler/check/csv.h"

#include <fmt/format.h>

namespace expc::check {

std::optional<std::vector<std::vector<std::string>>> readCsv(std::string_view text, std::string& problem) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string cell;
  bool quoted = false, closed = false;
  size_t line = 1;
  auto endCell = [&] {
    row.push_back(std::move(cell));
    cell.clear();
    closed = false;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        quoted = false;
        closed = true;
      }
    } else if (c == ',') {
      endCell();
    } else if (c == '\n') {
      endCell();
      rows.push_back(std::move(row));
      row.clear();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      continue;
    } else if (c == '"' && cell.empty() && !closed) {
      quoted = true;
    } else if (c == '"' || closed) {
      problem = fmt::format("line {}: a quote stands inside a cell", line);
      return std::nullopt;
    } else {
      cell += c;
    }
  }
  if (quoted) {
    problem = "its last quote is never closed";
    return std::nullopt;
  }
  if (!cell.empty() || closed || !row.empty()) {
    endCell();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace expc::check
