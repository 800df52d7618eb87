#pragma once

// What `expc` and its Parquet module say to each other. The module is a shared library of its own, opened only by an
// export that asks for it, so that expc starts without the 60 MB of Arrow.

#include <memory>
#include <string>

#include "runtime/export/table.h"

namespace expc::exports {

/// A table that becomes a file.
class FileSink : public Sink {
 public:
  /// After end(): why the file is not whole; "" if it is.
  virtual std::string problem() const = 0;
};

inline constexpr char kParquetModule[] = "libexpc_parquet.so";
inline constexpr char kParquetEntry[] = "expcParquetSink";
/// The function that the module has under that name: a table that becomes the file `path`.
using ParquetEntry = std::unique_ptr<FileSink> (*)(const std::string& path);

}  // namespace expc::exports
