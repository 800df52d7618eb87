
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/files/csv.h"
#include "runtime/worker/command/excerpt.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {
namespace {

/// "step, loss, …", for the message.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 12; ++i) text += (i ? ", " : "") + excerpt(names[i], 40);
  return names.size() > 12 ? text + ", …" : text;
}

llvm::Expected<size_t> placeOf(const std::string& column, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), column);
  if (found == names.end()) return failure("it has no column '{}'; its first row has {}", column, listed(names));
  if (std::find(std::next(found), names.end(), column) != names.end())
    return failure("it has two columns '{}'", column);
  return size_t(found - names.begin());
}

}  // namespace

llvm::Expected<Values> readColumn(llvm::StringRef text, const std::string& column, Which which) {
  files::CsvRows rows(text, files::CsvRows::Blanks::Dropped);
  std::vector<std::string> names, cells;
  std::optional<size_t> place;
  std::vector<std::pair<size_t, std::string>> found;  // with their rows
  for (size_t row = 1;; ++row) {
    auto more = rows.next(row == 1 ? names : cells);
    if (!more) return failure("row {}: {}", row, llvm::toString(more.takeError()));
    if (!*more && row == 1) return failure("it is empty");
    if (!*more) break;
    if (row == 1) {
      auto at = placeOf(column, names);
      if (!at) return at.takeError();
      place = *at;
      continue;
    }
    if (cells.size() != names.size())
      return failure("row {} has {} cells, the first row has {}", row, cells.size(), names.size());
    if (llvm::StringRef(cells[*place]).trim().empty()) continue;
    if (which == Which::Last) found.clear();
    found.emplace_back(row, std::move(cells[*place]));
    if (found.size() > kMostValues) return failure("the column '{}' has more than a million values", column);
  }
  if (found.empty()) return failure("the column '{}' has no value", column);
  Values values;
  for (const auto& [row, digits] : found) {
    auto value = readNumber(digits);
    if (!value) return failure("row {} of the column '{}': {}", row, column, llvm::toString(value.takeError()));
    values.push_back(*value);
  }
  return values;
}

}  // namespace expc::command
