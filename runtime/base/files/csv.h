#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace expc::files {

/// Rows of a table as RFC 4180 has it (quotes, doubled quotes, CRLF or LF), one after the other. A byte order mark is
/// passed over. Where the first row has no comma, its semicolons or tabs part the cells: that is what Excel writes in
/// half of the world.
class CsvRows {
 public:
  /// Blanks around a cell, which belong to it where it is text.
  enum class Blanks { Dropped, Kept };
  /// The largest row taken: what is larger is an unclosed quote.
  static constexpr size_t kLargestRow = 16 << 20;

  /// `bytes` must outlive it.
  CsvRows(llvm::StringRef bytes, Blanks blanks);
  ~CsvRows();
  CsvRows(CsvRows&&) noexcept;

  /// The next row's cells; false at the end. Errors say what is wrong with the row, not which it is.
  llvm::Expected<bool> next(std::vector<std::string>& cells);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace expc::files
