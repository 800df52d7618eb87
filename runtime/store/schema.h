#pragma once

// The tables of the index. Private to this directory.

#include <llvm/Support/Error.h>

#include <string>

struct sqlite3;

namespace expc::store {

/// What a database file is to us. Damaged: SQLite's quick_check complains, or its tables, views and triggers are not
/// ours word for word: what a stranger has put there must not run when we read or write.
enum class SchemaState { New, Current, Older, Damaged };

/// Refuses a file of another program, or of a schema that is newer than this program.
llvm::Expected<SchemaState> schemaOf(sqlite3* db, const std::string& path);

/// Makes the tables in a new database.
llvm::Error createSchema(sqlite3* db, const std::string& path);

}  // namespace expc::store
