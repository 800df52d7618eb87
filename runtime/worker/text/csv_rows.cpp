#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/files/csv.h"
#include "runtime/worker/text/rows.h"

namespace expc::text {
namespace {

/// Rows by the names of their columns.
class CsvRows : public RowReader {
 public:
  CsvRows(llvm::StringRef bytes, const std::string& name)
      : RowReader(name), rows_(bytes, files::CsvRows::Blanks::Kept) {}

 protected:
  llvm::Expected<bool> read(llvm::json::Object& row) override {
    if (columns_.empty())
      if (auto error = header()) return error;
    std::vector<std::string> cells;
    auto more = rows_.next(cells);
    if (!more || !*more) return more;
    if (cells.size() != columns_.size())
      return failure("{} cells, the first row names {} columns", cells.size(), columns_.size());
    row.clear();
    for (size_t at = 0; at < cells.size(); ++at) {
      if (!llvm::json::isUTF8(cells[at]))
        return notUtf8(fmt::format("column '{}'", llvm::StringRef(columns_[at]).take_front(40).str()));
      row[columns_[at]] = std::move(cells[at]);
    }
    return true;
  }

 private:
  llvm::Error header() {
    auto more = rows_.next(columns_);
    if (!more) return more.takeError();
    if (!*more) return failure("the file is empty; its first row names the columns");
    for (auto name = columns_.begin(); name != columns_.end(); ++name) {
      if (!llvm::json::isUTF8(*name)) return notUtf8("a column's name");
      if (std::find(columns_.begin(), name, *name) != name)
        return failure("two columns are called '{}'", llvm::StringRef(*name).take_front(40).str());
    }
    return llvm::Error::success();
  }

  static llvm::Error notUtf8(const std::string& what) {
    return llvm::createStringError(what + " is not UTF-8; convert the file (iconv -f WINDOWS-1252 -t UTF-8, say)");
  }

  files::CsvRows rows_;
  std::vector<std::string> columns_;
};

}  // namespace

std::unique_ptr<RowReader> makeCsvRows(llvm::StringRef bytes, const std::string& name) {
  return std::make_unique<CsvRows>(bytes, name);
}

}  // namespace expc::text
