#pragma once

#include <llvm/Support/Error.h>

#include <functional>
#include <string>

#include "runtime/export/table.h"

namespace expc::exports {

/// Makes one table the Parquet file `path`, whole or not at all: `write` gets the sink that it goes to. Text is UTF-8,
/// times are microseconds in UTC, each column's field says what it holds. Error: there is no pyarrow, or the file
/// cannot be written.
llvm::Error writeParquet(const std::string& path, const std::function<void(Sink&)>& write);

}  // namespace expc::exports
