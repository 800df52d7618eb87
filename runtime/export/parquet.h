#pragma once

#include <llvm/Support/Error.h>

#include <functional>
#include <memory>
#include <string>

#include "runtime/export/parquet/module.h"
#include "runtime/export/table.h"

namespace expc::exports {

/// Makes one table the Parquet file `path`, whole or not at all: `write` gets the sink that it goes to. Text is UTF-8,
/// times are microseconds in UTC, each column's field says what it holds. Error: this build has no Parquet, or the file
/// cannot be written.
llvm::Error writeParquet(const std::string& path, const std::function<void(Sink&)>& write);

/// The rows of a Parquet file. Error: this build has no Parquet; the rows say what is wrong with the file.
llvm::Expected<std::unique_ptr<TextRows>> readParquet(const std::string& path);

}  // namespace expc::exports
