#pragma once

#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/export/table.h"

namespace expc::exports {

/// Makes one table the Parquet file `path`, whole or not at all: `write` gets the sink that it goes to. Text is UTF-8,
/// times are microseconds in UTC, each column's field says what it holds. Error: there is no pyarrow, or the file
/// cannot be written.
llvm::Error writeParquet(const std::string& path, const std::function<void(Sink&)>& write);

/// Writes the texts of a Parquet file as a JSON object a row to the file `lines`, of the first `most` rows (0: of all);
/// cells without a value, or of another type, are left out. Error: there is no pyarrow, or `path` cannot be read.
llvm::Error parquetTexts(const std::string& path, const std::string& lines, int64_t most);

}  // namespace expc::exports
