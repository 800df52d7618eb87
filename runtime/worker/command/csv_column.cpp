#include <csv.h>
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "runtime/worker/command/excerpt.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {
namespace {

constexpr size_t kPiece = 1 << 20;

/// Takes libcsv's cells and rows.
class Table {
 public:
  Table(const std::string& column, Which which) : column_(column), which_(which) {}

  void cell(llvm::StringRef text) {
    if (row_ == 0)
      header(text);
    else if (failure_.empty() && place_ == wanted_)
      value(text);
    ++place_;
  }

  void endOfRow() {
    if (row_ == 0) {
      width_ = place_;
      if (failure_.empty() && !wanted_)
        failure_ = fmt::format("it has no column '{}'; its first row has {}", column_, names_);
    } else if (failure_.empty() && place_ != width_) {
      failure_ = fmt::format("row {} has {} cells, the first row has {}", row_ + 1, place_, width_);
    }
    ++row_;
    place_ = 0;
  }

  bool failed() const { return !failure_.empty(); }
  llvm::Expected<Values> take() {
    if (row_ == 0) return llvm::createStringError("it is empty");
    if (which_ == Which::Last && !last_.empty()) number(last_, last_row_);
    if (failed()) return llvm::createStringError(failure_);
    if (values_.empty()) return llvm::createStringError(fmt::format("the column '{}' has no value", column_));
    return std::move(values_);
  }
  size_t row() const { return row_ + 1; }

 private:
  void header(llvm::StringRef name) {
    if (place_ == 0) name.consume_front("\xef\xbb\xbf");  // what Excel puts first
    if (place_ < 12) names_ += fmt::format("{}{}", place_ ? ", " : "", excerpt(name, 40));
    if (place_ == 12) names_ += ", …";
    if (name != column_) return;
    if (wanted_) failure_ = fmt::format("it has two columns '{}'", column_);
    wanted_ = place_;
  }

  void value(llvm::StringRef text) {
    if (text.trim().empty()) return;
    if (which_ == Which::All) return number(text, row_);
    last_ = text.str();
    last_row_ = row_;
  }

  void number(llvm::StringRef text, size_t row) {
    auto value = readNumber(text);
    if (value && values_.size() < kMostValues)
      values_.push_back(*value);
    else if (value)
      failure_ = fmt::format("the column '{}' has more than a million values", column_);
    else
      failure_ = fmt::format("row {} of the column '{}': {}", row + 1, column_, llvm::toString(value.takeError()));
  }

  const std::string& column_;
  const Which which_;
  std::string names_, failure_, last_;
  size_t last_row_ = 0;
  std::optional<size_t> wanted_;
  size_t row_ = 0, place_ = 0, width_ = 0;
  Values values_;
};

void onCell(void* text, size_t size, void* table) {
  static_cast<Table*>(table)->cell({static_cast<const char*>(text), size});
}

void onRow(int, void* table) { static_cast<Table*>(table)->endOfRow(); }

}  // namespace

llvm::Expected<Values> readColumn(llvm::StringRef text, const std::string& column, Which which) {
  csv_parser parser;
  csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI);
  Table table(column, which);
  bool broken = false;
  while (!text.empty() && !broken && !table.failed()) {
    const llvm::StringRef piece = text.take_front(kPiece);
    broken = csv_parse(&parser, piece.data(), piece.size(), onCell, onRow, &table) != piece.size();
    text = text.drop_front(piece.size());
  }
  if (!broken && !table.failed()) broken = csv_fini(&parser, onCell, onRow, &table) != 0;
  const std::string why = broken ? csv_strerror(csv_error(&parser)) : "";
  csv_free(&parser);
  if (broken)
    return llvm::createStringError(
        fmt::format("row {} is no CSV: a quote stands where none may be ({})", table.row(), why));
  return table.take();
}

}  // namespace expc::command
