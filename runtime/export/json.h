#pragma once

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <span>
#include <vector>

#include "runtime/export/source.h"
#include "runtime/export/table.h"

namespace expc::exports {

/// What columns hold.
llvm::json::Array described(const std::vector<Column>& columns);

/// "expc.export/1": {"schema", "columns": {table: [{"name", "type", "what"}]}, "measurements": [row …], "series": [row
/// …], "reports": [expc.report/1 …]}. A row is an object without the members that have no value; times are text, and
/// numbers that are none the strings "inf", "-inf" and "nan".
void writeJson(std::span<const Source> sources, llvm::raw_ostream& out);

}  // namespace expc::exports
