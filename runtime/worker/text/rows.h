#pragma once

// Rows of a JSON, JSONL or CSV file, one after the other, so that a limit on rows is one on time and memory too.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/csv.h"

namespace expc::text {

using base::failure;

enum class RowFormat { Json, Csv };

/// The largest row taken: what is larger is an unclosed quote or bracket.
inline constexpr size_t kLargestRow = files::CsvRows::kLargestRow;

class RowReader {
 public:
  /// By the name's ending: .json and .jsonl (either may hold an array of objects, or an object a line), .csv (the first
  /// row names the columns).
  static llvm::Expected<std::unique_ptr<RowReader>> open(const std::string& path);
  /// The same for bytes that outlive the reader; `name` stands for the file in messages.
  static std::unique_ptr<RowReader> parse(llvm::StringRef bytes, const std::string& name, RowFormat format);
  virtual ~RowReader() = default;

  /// The next row; false at the end. Cells of CSV are texts. Errors name file and row.
  llvm::Expected<bool> next(llvm::json::Object& row);
  /// "data.jsonl: row 3", the row that was read last.
  std::string place() const;
  const std::string& name() const { return name_; }

 protected:
  explicit RowReader(std::string name) : name_(std::move(name)) {}
  /// Errors without the place.
  virtual llvm::Expected<bool> read(llvm::json::Object& row) = 0;

 private:
  std::string name_;
  size_t number_ = 0;
  std::shared_ptr<void> keep_;  // what the bytes lie in
};

}  // namespace expc::text
