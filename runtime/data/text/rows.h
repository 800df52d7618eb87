#pragma once

// Rows of a JSON, JSONL or CSV file, read one after the other, so that a limit on rows also limits time and memory. The
// file is mapped and never parsed as a whole.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/csv.h"
#include "runtime/base/llvm.h"

namespace expc::text {

enum class RowFormat { Json, Csv };

/// The largest row in bytes. Beyond it a quote or bracket is probably not closed, and reading on would take the rest of
/// the file for one row.
inline constexpr size_t kLargestRow = files::CsvRows::kLargestRow;

/// Reads rows as JSON objects.
class RowReader {
 public:
  /// Opens a file by its ending: .json or .jsonl (either may hold an array of objects, or an object on each line), or
  /// .csv, whose first row names the columns.
  static Expected<std::unique_ptr<RowReader>> open(const std::string& path);
  /// Reads bytes in memory, which must outlive the reader; `name` stands for the file in messages.
  static std::unique_ptr<RowReader> parse(StringRef bytes, const std::string& name, RowFormat format);
  virtual ~RowReader() = default;

  /// Reads the next row; false at the end. Cells of CSV become texts. Errors name file and row.
  Expected<bool> next(json::Object& row);
  /// Goes behind a row that could not be read. False if nobody can tell where the next one begins.
  virtual bool skip() = 0;
  /// The line of the file on which the row that was read last begins, counted from 1; 0: not known.
  virtual size_t line() { return 0; }
  /// The text of the row that was read last, valid as long as the bytes; "" if the format is not JSON.
  StringRef raw() const { return raw_; }
  /// The bytes of all rows that were read so far, without what separates them.
  uint64_t bytes() const { return bytes_; }
  /// The row that was read last, for messages: "data.jsonl: row 3".
  std::string place() const;
  const std::string& name() const { return name_; }

 protected:
  explicit RowReader(std::string name) : name_(std::move(name)) {}
  /// Reads the next row; errors do not name the place.
  virtual Expected<bool> read(json::Object& row) = 0;

  StringRef raw_;       // what read() fills for raw()
  uint64_t bytes_ = 0;  // read() adds the length of each row

 private:
  std::string name_;
  size_t number_ = 0;
  std::shared_ptr<void> keep_;  // owns the bytes of an opened file
};

}  // namespace expc::text
