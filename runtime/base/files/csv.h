#pragma once

// Reads tables of numbers and text that users export from other programs.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::files {

/// The rows of a table in the format of RFC 4180 (quotes, doubled quotes, CRLF or LF), one after another. A byte
/// order mark is skipped. If the first row has no comma, its semicolons or tabs separate the cells, as Excel writes
/// them in many countries. Bytes may be a stranger's: rows and cells are limited.
class CsvRows {
 public:
  /// Blanks around a cell; in text they belong to it.
  enum class Blanks { Dropped, Kept };
  /// The largest row in bytes. A larger one has an unclosed quote.
  static constexpr size_t kLargestRow = 16 << 20;

  /// `bytes` must outlive this object.
  CsvRows(StringRef bytes, Blanks blanks);
  ~CsvRows();
  CsvRows(CsvRows&&) noexcept;

  /// Reads the next row's cells; false at the end. An error says what is wrong with the row, not which row it is.
  Expected<bool> next(std::vector<std::string>& cells);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace expc::files
