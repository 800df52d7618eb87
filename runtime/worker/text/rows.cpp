#include "runtime/worker/text/rows.h"

#include <fmt/format.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/files/csv.h"
#include "runtime/base/files/files.h"
#include "runtime/base/json.h"

namespace expc::text {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

llvm::Error notUtf8(const std::string& what) {
  return llvm::createStringError(what + " is not UTF-8; convert the file (iconv -f WINDOWS-1252 -t UTF-8, say)");
}

/// An array's elements or a file's lines. Each is cut out by its brackets and quotes and parsed on its own.
class JsonRows : public RowReader {
 public:
  JsonRows(llvm::StringRef bytes, const std::string& name) : RowReader(name), rest_(bytes) {}

 protected:
  llvm::Expected<bool> read(llvm::json::Object& row) override {
    skipSpace();
    if (!begun_) {
      begun_ = true;
      if (rest_.empty()) return failure("the file is empty");
      array_ = rest_.consume_front("[");
      skipSpace();
      first_ = true;
    }
    if (array_) {
      auto more = toElement();
      if (!more || !*more) return more;
    }
    if (rest_.empty()) return false;
    auto length = rowLength();
    if (!length) return length.takeError();
    if (!llvm::json::isUTF8(rest_.take_front(*length))) return notUtf8("it");
    auto value = base::parseJson(rest_.take_front(*length));
    if (!value) return llvm::createStringError("it is no JSON: " + llvm::toString(value.takeError()));
    rest_ = rest_.drop_front(*length);
    auto* object = value->getAsObject();
    if (object == nullptr)
      return llvm::createStringError(
          "expected an object, {\"column\": \"text\", …}; the file is an array of such, or one a line");
    row = std::move(*object);
    return true;
  }

 private:
  void skipSpace() { rest_ = rest_.drop_while(isSpace); }

  /// Past the comma before an element; false past the end of the array.
  llvm::Expected<bool> toElement() {
    if (ended_) return false;
    if (rest_.consume_front("]")) {
      ended_ = true;
      skipSpace();
      if (!rest_.empty()) return failure("something follows the array's end");
      return false;
    }
    if (!first_ && !rest_.consume_front(",")) {
      if (rest_.empty()) return failure("the file ends within its array; it may be cut off");
      return failure("expected a comma or the array's end");
    }
    first_ = false;
    skipSpace();
    if (rest_.empty()) return failure("the file ends within its array; it may be cut off");
    return true;
  }

  /// To where the brackets that open at the beginning are closed; up to the line's end or a comma where there are none.
  llvm::Expected<size_t> rowLength() const {
    size_t depth = 0;
    bool in_string = false;
    for (size_t at = 0; at < rest_.size(); ++at) {
      if (at > kLargestRow)
        return failure("it is longer than {} bytes; a quote or a bracket may not be closed", kLargestRow);
      const char c = rest_[at];
      if (in_string) {
        if (c == '\\')
          ++at;
        else if (c == '"')
          in_string = false;
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (depth > 0 && (c == '}' || c == ']')) {
        if (--depth == 0) return at + 1;
      } else if (depth == 0 && at > 0 && (c == '\n' || c == ',' || c == ']')) {
        return at;
      }
    }
    if (depth > 0 || in_string) return failure("the file ends within it; it may be cut off");
    return rest_.size();
  }

  llvm::StringRef rest_;
  bool begun_ = false, array_ = false, first_ = false, ended_ = false;
};

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

  files::CsvRows rows_;
  std::vector<std::string> columns_;
};

}  // namespace

llvm::Expected<std::unique_ptr<RowReader>> RowReader::open(const std::string& path) {
  const llvm::StringRef ending = llvm::sys::path::extension(path);
  const bool csv = ending.equals_insensitive(".csv");
  if (!csv && !ending.equals_insensitive(".json") && !ending.equals_insensitive(".jsonl"))
    return failure("{}: rows are read from .json, .jsonl and .csv; convert the file, or give it its ending", path);
  auto buffer = files::mapText(path, UINT64_MAX, "data is a file of rows: .json, .jsonl or .csv");
  if (!buffer) return buffer.takeError();
  auto reader = parse((*buffer)->getBuffer(), path, csv ? RowFormat::Csv : RowFormat::Json);
  reader->keep_ = std::shared_ptr<llvm::MemoryBuffer>(std::move(*buffer));
  return reader;
}

std::unique_ptr<RowReader> RowReader::parse(llvm::StringRef bytes, const std::string& name, RowFormat format) {
  bytes.consume_front("\xef\xbb\xbf");  // what Windows puts first
  if (format == RowFormat::Csv) return std::make_unique<CsvRows>(bytes, name);
  return std::make_unique<JsonRows>(bytes, name);
}

llvm::Expected<bool> RowReader::next(llvm::json::Object& row) {
  ++number_;
  auto more = read(row);
  if (!more) return failure("{}: {}", place(), llvm::toString(more.takeError()));
  return *more;
}

std::string RowReader::place() const { return fmt::format("{}: row {}", name_, number_); }

}  // namespace expc::text
