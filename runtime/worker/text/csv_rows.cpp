#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "runtime/worker/text/rows.h"

namespace expc::text {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr size_t kMostColumns = 4096;

/// Feeds libcsv piece by piece and keeps what rows come out of one.
class CsvRows : public RowReader {
 public:
  CsvRows(llvm::StringRef bytes, const std::string& name) : RowReader(name), rest_(bytes) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_blk_size(&parser_, kPiece);
    csv_set_space_func(&parser_, [](unsigned char) { return 0; });  // blanks belong to a cell
  }
  ~CsvRows() override { csv_free(&parser_); }
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

 protected:
  llvm::Expected<bool> read(llvm::json::Object& row) override {
    while (ready_.empty() && !done_) feed();
    if (!ready_.empty()) {
      auto cells = std::move(ready_.front());
      ready_.pop_front();
      return columns_.empty() ? header(std::move(cells), row) : fill(std::move(cells), row);
    }
    if (!failure_.empty()) return llvm::createStringError(failure_);
    if (columns_.empty()) return llvm::createStringError("the file is empty; its first row names the columns");
    return false;
  }

 private:
  void feed() {
    const llvm::StringRef piece = rest_.take_front(kPiece);
    rest_ = rest_.drop_front(piece.size());
    const auto onCell = [](void* text, size_t size, void* self) {
      static_cast<CsvRows*>(self)->cell({static_cast<const char*>(text), size});
    };
    const auto onRow = [](int, void* self) { static_cast<CsvRows*>(self)->endOfRow(); };
    const size_t used = piece.empty() ? 0 : csv_parse(&parser_, piece.data(), piece.size(), onCell, onRow, this);
    if (used != piece.size()) return fail();
    in_row_ += used;
    if (in_row_ > kLargestRow && failure_.empty()) {
      failure_ = fmt::format("it is longer than {} bytes; a quote may not be closed", kLargestRow);
      done_ = true;
    }
    if (!rest_.empty() || done_) return;
    done_ = true;
    if (csv_fini(&parser_, onCell, onRow, this) != 0) fail();
  }

  void fail() {
    done_ = true;
    failure_ = fmt::format(
        "it is no CSV: a quote stands where none may be, or is not closed ({}); a cell with quotes, commas or line "
        "breaks stands in quotes, and "
        "quotes in it are doubled",
        csv_strerror(csv_error(&parser_)));
  }

  void cell(llvm::StringRef text) {
    if (cells_.size() < kMostColumns) cells_.push_back(text.str());
  }
  void endOfRow() {
    ready_.push_back(std::move(cells_));
    cells_.clear();
    in_row_ = 0;
  }

  llvm::Expected<bool> header(std::vector<std::string> cells, llvm::json::Object& row) {
    for (std::string& name : cells) {
      if (!llvm::json::isUTF8(name)) return notUtf8("a column's name");
      if (std::find(columns_.begin(), columns_.end(), name) != columns_.end())
        return llvm::createStringError(
            fmt::format("two columns are called '{}'", llvm::StringRef(name).take_front(40).str()));
      columns_.push_back(std::move(name));
    }
    return read(row);
  }

  llvm::Expected<bool> fill(std::vector<std::string> cells, llvm::json::Object& row) {
    if (cells.size() != columns_.size())
      return llvm::createStringError(
          fmt::format("{} cells, the first row names {} columns", cells.size(), columns_.size()));
    row.clear();
    for (size_t at = 0; at < cells.size(); ++at) {
      if (!llvm::json::isUTF8(cells[at]))
        return notUtf8(fmt::format("column '{}'", llvm::StringRef(columns_[at]).take_front(40).str()));
      row[columns_[at]] = std::move(cells[at]);
    }
    return true;
  }

  static llvm::Error notUtf8(const std::string& what) {
    return llvm::createStringError(what + " is not UTF-8; convert the file (iconv -f WINDOWS-1252 -t UTF-8, say)");
  }

  llvm::StringRef rest_;
  csv_parser parser_;
  std::vector<std::string> columns_, cells_;
  std::deque<std::vector<std::string>> ready_;
  std::string failure_;
  size_t in_row_ = 0;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<RowReader> makeCsvRows(llvm::StringRef bytes, const std::string& name) {
  return std::make_unique<CsvRows>(bytes, name);
}

}  // namespace expc::text
