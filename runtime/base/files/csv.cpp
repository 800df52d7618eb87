#include "runtime/base/files/csv.h"

#include <csv.h>

#include <deque>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"

namespace expc::files {
namespace {

constexpr size_t kPiece = 64 << 10, kMostCells = 1 << 16;

/// The separator of cells, taken from the first row. Separators inside quotes do not count.
unsigned char separatorOf(StringRef bytes) {
  unsigned char other = ',';
  bool quoted = false;
  for (const char c : bytes) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == ',' || c == '\n' || c == '\r') return c == ',' ? ',' : other;
    if (other == ',' && (c == ';' || c == '\t')) other = static_cast<unsigned char>(c);
  }
  return other;
}

}  // namespace

/// Feeds libcsv one piece at a time and keeps the rows that come out, so that memory holds a piece and its rows,
/// not the table.
struct CsvRows::Parser {
  Parser(StringRef bytes, Blanks blanks) : rest(bytes) {
    rest.consume_front("\xef\xbb\xbf");
    csv_init(&csv, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_blk_size(&csv, kPiece);
    csv_set_delim(&csv, separatorOf(rest));
    if (blanks == Blanks::Kept) csv_set_space_func(&csv, [](unsigned char) { return 0; });
  }
  ~Parser() { csv_free(&csv); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // libcsv reports cells and rows by callbacks with a pointer to this object.
  void feed() {
    const StringRef piece = rest.take_front(kPiece);
    rest = rest.drop_front(piece.size());
    const auto on_cell = [](void* text, size_t size, void* self) {
      auto& cells = static_cast<Parser*>(self)->cells;
      if (cells.size() <= kMostCells) cells.emplace_back(static_cast<const char*>(text), size);
    };
    const auto on_row = [](int, void* self) { static_cast<Parser*>(self)->endOfRow(); };
    const size_t used = piece.empty() ? 0 : csv_parse(&csv, piece.data(), piece.size(), on_cell, on_row, this);
    in_row += used;
    done = rest.empty() || used != piece.size() || in_row > kLargestRow;
    if (in_row > kLargestRow)
      failure = fmt::format("it is longer than {} bytes; a quote may not be closed", kLargestRow);
    if (!done || !failure.empty() || (used == piece.size() && csv_fini(&csv, on_cell, on_row, this) == 0)) return;
    failure =
        "it is not CSV: a quote is misplaced or not closed. Put a cell with quotes, commas or line breaks in quotes, "
        "and double the quotes in it";
  }

  void endOfRow() {
    ready.push_back(std::exchange(cells, {}));
    in_row = 0;
  }

  StringRef rest;
  csv_parser csv;
  std::vector<std::string> cells;  // of the row being read
  std::deque<std::vector<std::string>> ready;
  std::string failure;
  size_t in_row = 0;  // bytes since the last row ended
  bool done = false;
};

CsvRows::CsvRows(StringRef bytes, Blanks blanks) : parser_(std::make_unique<Parser>(bytes, blanks)) {}
CsvRows::CsvRows(CsvRows&&) noexcept = default;
CsvRows::~CsvRows() = default;

Expected<bool> CsvRows::next(std::vector<std::string>& cells) {
  while (parser_->ready.empty() && !parser_->done) parser_->feed();
  if (parser_->ready.empty() && !parser_->failure.empty()) return failure("{}", parser_->failure);
  if (parser_->ready.empty()) return false;
  cells = std::move(parser_->ready.front());
  parser_->ready.pop_front();
  if (cells.size() > kMostCells) return failure("it has more than {} cells", kMostCells);
  return true;
}

}  // namespace expc::files
