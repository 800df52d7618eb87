#pragma once

// What `expc` and its Parquet module say to each other. The module is a shared library of its own, opened only by an
// export that asks for it or a download in this form, so that expc starts without the 60 MB of Arrow.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/export/table.h"

namespace expc::exports {

/// A table that becomes a file.
class FileSink : public Sink {
 public:
  /// After end(): why the file is not whole; "" if it is.
  virtual std::string problem() const = 0;
};

/// A file's rows, of which those columns are taken that hold texts.
class TextRows {
 public:
  virtual ~TextRows() = default;
  /// The next row, column by column without those that are empty in it; false at the end.
  virtual bool next(std::vector<std::pair<std::string, std::string>>& row) = 0;
  /// What is wrong with the file, as far as it was read; "" if nothing is.
  virtual std::string problem() const = 0;
};

inline constexpr char kParquetModule[] = "libexpc_parquet.so";
inline constexpr char kParquetEntry[] = "expcParquet";
/// What the module has under that name.
struct ParquetModule {
  std::unique_ptr<FileSink> (*write)(const std::string& path);  // a table that becomes the file
  std::unique_ptr<TextRows> (*read)(const std::string& path);
};

}  // namespace expc::exports
