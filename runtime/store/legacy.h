#pragma once

// Stores of before there were journals (schema versions 1 and 2), as entries. Private to this directory.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Error.h>

#include <string>

#include "runtime/store/entry.h"

struct sqlite3;

namespace expc::store {

/// Everything that such a database holds, in an order in which nothing refers to what comes later. The error is the
/// database's, or `take`'s.
llvm::Error readLegacy(sqlite3* db, const std::string& path, llvm::function_ref<llvm::Error(Entry&&)> take);

}  // namespace expc::store
