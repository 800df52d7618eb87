#pragma once

// The index: what the journals say, in SQLite, in a file or in memory. Derived, so nothing is lost with it. Private to
// this directory.

#include <llvm/Support/Error.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/store/journal.h"
#include "runtime/store/records.h"
#include "runtime/store/schema.h"
#include "runtime/store/sqlite.h"

namespace expc::store {

class EntryWriter;

/// How far a journal is in the index.
struct Applied {
  uint64_t bytes = 0;
  uint32_t sum = 0;  // JournalFile::sum at that place
};

class Database {
 public:
  Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  static llvm::Expected<Database> inMemory();
  /// Makes the file if it is not there. Its schema may be an older one; see state().
  static llvm::Expected<Database> openForWriting(const std::string& path);
  /// Never changes anything.
  static llvm::Expected<Database> openForReading(const std::string& path);

  SchemaState state() const { return state_; }
  sqlite3* handle() const { return db_; }
  const std::string& path() const { return path_; }

  /// Whether it holds what these journals hold, and nothing else.
  llvm::Expected<bool> isCurrent(const std::vector<JournalFile>& journals) const;
  /// Whether what it holds is the beginning of these journals.
  llvm::Expected<bool> isPrefix(const std::vector<JournalFile>& journals) const;
  /// Takes what is new in these journals, as one transaction. What a damaged line held, and what refers to it, is left
  /// out and told.
  llvm::Error take(const std::string& folder, const std::vector<JournalFile>& journals,
                   std::vector<DamagedLine>& damaged);
  /// One entry, inside a transaction of the caller's. False if it refers to what is not there, or says twice what can
  /// be said once.
  llvm::Expected<bool> apply(const Entry& entry);

  /// The largest number of a table, 0 for an empty one.
  llvm::Expected<int64_t> largest(const char* table) const;
  /// "" of one that no journal was ever taken into.
  llvm::Expected<std::string> storeName() const;
  llvm::Expected<std::map<TrialKey, int64_t>> keys() const;
  /// Every row of every table as text, in a fixed order, to compare two of them.
  llvm::Expected<std::vector<std::string>> dump() const;

 private:
  llvm::Error open(const std::string& path, int flags);
  llvm::Expected<std::map<std::string, Applied>> applied() const;
  llvm::Error note(const JournalFile& journal);

  std::string path_;
  sqlite3* db_ = nullptr;
  SchemaState state_ = SchemaState::New;
  std::unique_ptr<EntryWriter> writer_;  // prepared statements, made when first needed
};

}  // namespace expc::store
