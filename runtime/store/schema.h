#pragma once

// The tables, and whether a file is one of ours. Private to this directory.

#include <llvm/Support/Error.h>

#include <string>

struct sqlite3;

namespace expc::store {

/// Refuses a file that is no intact database of expc, or of a schema that this program does not know; a new, empty file
/// passes. An older schema is brought up to date if the database is `writable`; else it is made readable as it is.
llvm::Error checkSchema(sqlite3* db, const std::string& path, bool writable);

/// Makes the tables if the file is new.
llvm::Error createSchema(sqlite3* db, const std::string& path);

}  // namespace expc::store
