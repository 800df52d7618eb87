// The two readers of rows. JSON is cut into rows by counting brackets outside of strings, and each row is parsed by
// itself: a file of gigabytes never stands in memory, and an error names its row.

#include "runtime/data/text/rows.h"

#include <llvm/Support/Path.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/files/csv.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"

namespace expc::text {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// An error for text in another encoding, usually Windows' own.
Error notUtf8(const std::string& what) {
  return failure("{} is not UTF-8; convert the file (iconv -f WINDOWS-1252 -t UTF-8, say)", what);
}

/// Reads the elements of an array, or the objects on the lines of a file.
class JsonRows : public RowReader {
 public:
  JsonRows(StringRef bytes, const std::string& name) : RowReader(name), rest_(bytes), counted_(bytes.begin()) {}

  size_t line() override {
    line_ += size_t(std::count(counted_, start_, '\n'));
    counted_ = start_;
    return line_;
  }

  bool skip() override {
    if (array_) {
      rest_ = rest_.drop_front(cut_);
      return std::exchange(cut_, 0) > 0;
    }
    // Where objects have several lines, the next one begins with a bracket.
    do rest_ = rest_.drop_front(std::min(rest_.find('\n'), rest_.size() - 1) + 1);
    while (spans_ && !rest_.empty() && rest_.front() != '{');
    return true;
  }

 protected:
  Expected<bool> read(json::Object& row) override {
    cut_ = 0;
    skipSpace();
    start_ = rest_.begin();
    if (!begun_) {
      begun_ = true;
      if (rest_.empty()) return failure("the file is empty");
      // The first character tells the two forms apart.
      array_ = rest_.consume_front("[");
      skipSpace();
      first_ = true;
    }
    if (array_) {
      auto more = toElement();
      if (!more || !*more) return more;
      start_ = rest_.begin();
    }
    if (rest_.empty()) return false;
    // Cut first, parse then: a broken row cannot make the parser read the rest of the file.
    auto length = TRY(rowLength());
    cut_ = length;
    if (!json::isUTF8(rest_.take_front(length))) return notUtf8("it");
    auto value = parseJson(rest_.take_front(length));
    if (!value) return failure("it is not JSON: {}", value.takeError());
    auto* object = value->getAsObject();
    if (!object)
      return failure(
          "expected an object, {{\"column\": \"text\", …}}; the file is an array of objects, or has one on each line");
    raw_ = rest_.take_front(length);
    bytes_ += length;
    rest_ = rest_.drop_front(length);
    spans_ = spans_ || raw_.contains('\n');
    row = std::move(*object);
    return true;
  }

 private:
  void skipSpace() { rest_ = rest_.drop_while(isSpace); }

  /// Goes past the comma in front of an element; false behind the end of the array.
  Expected<bool> toElement() {
    if (ended_) return false;
    if (rest_.consume_front("]")) {
      ended_ = true;
      skipSpace();
      if (!rest_.empty()) return failure("there is text after the end of the array");
      return false;
    }
    if (!first_ && !rest_.consume_front(",")) {
      if (rest_.empty()) return failure("the file ends within its array; it may be truncated");
      return failure("expected a comma or the array's end");
    }
    first_ = false;
    skipSpace();
    if (rest_.empty()) return failure("the file ends within its array; it may be truncated");
    return true;
  }

  /// Whether the object at a place inside a row is the next row: it begins a line, and nothing asks for a value there.
  bool beginsRow(size_t at) const {
    const StringRef before = rest_.take_front(at), said = before.rtrim();
    return !said.empty() && before.drop_front(said.size()).contains('\n') && !StringRef("{[,:").contains(said.back());
  }

  /// The length of the row that begins here: up to where its first bracket is closed; for anything else, which is an
  /// error later, up to the end of the line, a comma or the array's end.
  Expected<size_t> rowLength() const {
    size_t depth = 0;
    bool in_string = false;
    for (size_t at = 0; at < rest_.size(); ++at) {
      if (at > kLargestRow)
        return failure("it is longer than {} bytes; perhaps a quote or a bracket is not closed", kLargestRow);
      const char c = rest_[at];
      if (in_string) {
        if (c == '\n') return failure("the line ends within a text; a line break in it is written as \\n");
        if (c == '\\')
          ++at;
        else if (c == '"')
          in_string = false;
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        if (c == '{' && beginsRow(at)) return failure("the line ends before its brackets are closed");
        ++depth;
      } else if (depth > 0 && (c == '}' || c == ']')) {
        if (--depth == 0) return at + 1;
      } else if (depth == 0 && at > 0 && (c == '\n' || c == ',' || c == ']')) {
        return at;
      }
    }
    if (depth > 0 || in_string) return failure("the file ends within it; it may be truncated");
    return rest_.size();
  }

  StringRef rest_;
  const char *counted_, *start_ = nullptr;  // up to where lines are counted; where the row begins
  size_t line_ = 1;                         // at `counted_`
  size_t cut_ = 0;                          // bytes of a row that was cut and not taken
  // The state of reading: the form is known, it is an array, before its first element, behind its end; some object has
  // several lines.
  bool begun_ = false, array_ = false, first_ = false, ended_ = false, spans_ = false;
};

/// Reads rows of CSV as objects by the names of their columns.
class CsvRows : public RowReader {
 public:
  CsvRows(StringRef bytes, const std::string& name) : RowReader(name), rows_(bytes, files::CsvRows::Blanks::Kept) {}

  bool skip() override { return cut_; }

 protected:
  Expected<bool> read(json::Object& row) override {
    if (columns_.empty()) TRY(header());
    std::vector<std::string> cells;
    auto more = rows_.next(cells);
    cut_ = bool(more);
    if (!more || !*more) return more;
    // A row with other cells than columns usually means an unescaped comma or quote above it.
    if (cells.size() != columns_.size())
      return failure("{} cells, the first row names {} columns", cells.size(), columns_.size());
    row.clear();
    for (size_t at = 0; at < cells.size(); ++at) {
      if (!json::isUTF8(cells[at])) return notUtf8(fmt::format("column '{}'", StringRef(columns_[at]).take_front(40)));
      bytes_ += cells[at].size();
      row[columns_[at]] = std::move(cells[at]);
    }
    return true;
  }

 private:
  /// Reads the names of the columns, which must differ.
  Error header() {
    auto more = TRY(rows_.next(columns_));
    if (!more) return failure("the file is empty; its first row names the columns");
    for (auto name = columns_.begin(); name != columns_.end(); ++name) {
      if (!json::isUTF8(*name)) return notUtf8("a column's name");
      if (std::find(columns_.begin(), name, *name) != name)
        return failure("two columns are called '{}'", StringRef(*name).take_front(40));
    }
    return Error::success();
  }

  files::CsvRows rows_;
  std::vector<std::string> columns_;
  bool cut_ = false;  // the cells of the row are known
};

}  // namespace

Expected<std::unique_ptr<RowReader>> RowReader::open(const std::string& path) {
  const StringRef ending = llvm::sys::path::extension(path);
  const bool csv = ending.equals_insensitive(".csv");
  if (!csv && !ending.equals_insensitive(".json") && !ending.equals_insensitive(".jsonl"))
    return failure("{}: rows are read from .json, .jsonl and .csv; convert the file, or correct its ending", path);
  auto buffer = TRY(files::mapText(path, UINT64_MAX, "data is a file of rows: .json, .jsonl or .csv"));
  // The rows are views of the mapping, which the reader keeps.
  auto reader = parse(buffer->getBuffer(), path, csv ? RowFormat::Csv : RowFormat::Json);
  reader->keep_ = std::shared_ptr<llvm::MemoryBuffer>(std::move(buffer));
  return reader;
}

std::unique_ptr<RowReader> RowReader::parse(StringRef bytes, const std::string& name, RowFormat format) {
  bytes.consume_front("\xef\xbb\xbf");  // the byte order mark that Windows writes
  if (format == RowFormat::Csv) return std::make_unique<CsvRows>(bytes, name);
  return std::make_unique<JsonRows>(bytes, name);
}

Expected<bool> RowReader::next(json::Object& row) {
  ++number_;
  auto more = read(row);
  if (!more) return failure("{}: {}", place(), more.takeError());
  return *more;
}

std::string RowReader::place() const { return fmt::format("{}: row {}", name_, number_); }

}  // namespace expc::text
