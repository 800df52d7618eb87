#pragma once

// Marks by which a file that expc wrote is known: no program means such a file when it reads `*.csv`. Whoever writes
// one takes the mark from here, or a test of its own asks isOurs.

#include <cstdint>

#include "runtime/base/llvm.h"

namespace expc::files {

/// Begins the root element of a JUnit file.
inline constexpr char kJunitMark[] = "<testsuites name=\"expc\"";
/// Begins every schema, which JSON documents name: "expc.report/1".
inline constexpr char kSchemaMark[] = "expc.";
/// The schema of exports, which Parquet files name, too.
inline constexpr char kExportSchema[] = "expc.export/1";
/// The application's number of an SQLite file.
inline constexpr uint32_t kSqliteMark = 0x65787063;

/// Whether a file with this content is an export, a report or another document that expc wrote.
bool isOurs(StringRef whole);

}  // namespace expc::files
