#pragma once

// Entries of journals as rows of the index. Private to this directory.

#include <map>
#include <string>

#include "runtime/store/entry.h"
#include "runtime/store/sqlite.h"

namespace expc::store {

class EntryWriter {
 public:
  EntryWriter(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  /// False if a constraint of the tables is against it; then nothing of it is there.
  llvm::Expected<bool> apply(const Entry& entry);

  // The rows of each entry; false as in apply.
  bool operator()(const Opened& entry);
  bool operator()(const Session& entry);
  bool operator()(const Seen& entry);
  bool operator()(const PlanText& entry);
  bool operator()(const RunBegan& entry);
  bool operator()(const RunEnded& entry);
  bool operator()(const BlockPlan& entry);
  bool operator()(const KeyAdded& entry);
  bool operator()(const TrialBegan& entry);
  bool operator()(const TrialEnded& entry);
  bool operator()(const Reread& entry);
  bool operator()(const Adopted& entry);

 private:
  /// Runs a statement (prepared once); how many rows it changed, or nothing where a constraint forbids it.
  std::optional<int> run(const char* sql, std::initializer_list<Bound> values);
  bool one(const char* sql, std::initializer_list<Bound> values) { return run(sql, values) == 1; }
  bool values(const Trial& trial);

  sqlite3* db_;
  const std::string path_;
  std::map<const char*, Statement> statements_;
  std::string failed_;  // the first error that is no constraint
};

}  // namespace expc::store
