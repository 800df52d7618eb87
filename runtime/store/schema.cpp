#include "runtime/store/schema.h"

#include <fmt/format.h>

#include "runtime/store/sqlite.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

constexpr int64_t kApplicationId = 0x65787063;  // "expc"

// Statuses and kinds are words, so that a reader with nothing but sqlite3 understands the file.
constexpr const char* kTables = R"sql(
CREATE TABLE session(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT NOT NULL, boot_id TEXT NOT NULL, environment_class TEXT NOT NULL, worker_build TEXT NOT NULL,
  environment TEXT NOT NULL, opened REAL NOT NULL, last_seen REAL NOT NULL);
CREATE TABLE run(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  study TEXT NOT NULL, plan_digest TEXT NOT NULL, plan TEXT NOT NULL,
  session INTEGER NOT NULL REFERENCES session(id),
  environment_class TEXT NOT NULL, worker_build TEXT NOT NULL, data_digests TEXT NOT NULL,
  started REAL NOT NULL, ended REAL, outcome TEXT NOT NULL);
CREATE TABLE block(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  study TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL, seed INTEGER NOT NULL,
  session INTEGER NOT NULL REFERENCES session(id),
  settings TEXT NOT NULL, points TEXT NOT NULL,
  UNIQUE(study, kind, number));
CREATE TABLE trial(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  point TEXT NOT NULL, kind TEXT NOT NULL, settings TEXT NOT NULL,
  block INTEGER NOT NULL REFERENCES block(id), session INTEGER NOT NULL REFERENCES session(id),
  position INTEGER NOT NULL, attempt INTEGER NOT NULL,
  status TEXT NOT NULL, reason TEXT NOT NULL, log_tail TEXT NOT NULL,
  started REAL NOT NULL, ended REAL,
  environment_class TEXT NOT NULL, worker_build TEXT NOT NULL, data_digest TEXT NOT NULL,
  devices TEXT NOT NULL, environment TEXT NOT NULL, notes TEXT NOT NULL,
  label TEXT NOT NULL DEFAULT '',
  UNIQUE(block, position, attempt));
CREATE INDEX trial_of_point ON trial(point, kind);
CREATE UNIQUE INDEX one_valid_trial ON trial(block, point, label) WHERE status = 'valid';
CREATE TABLE metric_value(
  trial INTEGER NOT NULL REFERENCES trial(id), name TEXT NOT NULL,
  value REAL,
  PRIMARY KEY(trial, name)) WITHOUT ROWID;
CREATE TABLE series(
  trial INTEGER NOT NULL REFERENCES trial(id), name TEXT NOT NULL, numbers BLOB NOT NULL,
  PRIMARY KEY(trial, name)) WITHOUT ROWID;
)sql";

/// From version 1 to 2: controls give a point a second label, so a block may hold it twice.
constexpr const char* kFrom1To2 = R"sql(
ALTER TABLE trial ADD COLUMN label TEXT NOT NULL DEFAULT '';
DROP INDEX one_valid_trial;
CREATE UNIQUE INDEX one_valid_trial ON trial(block, point, label) WHERE status = 'valid';
PRAGMA user_version = 2;
)sql";

/// What lets a reader, which must not write, read version 1 with the statements of version 2.
constexpr const char* kReadVersion1 = "CREATE TEMP VIEW trial AS SELECT *, '' AS label FROM main.trial;";

llvm::Expected<int64_t> number(sqlite3* db, const std::string& path, const char* sql) {
  Statement statement(db, path, sql);
  int64_t result = statement.step() ? statement.integer(0) : 0;
  if (auto error = statement.take()) return error;
  return result;
}

}  // namespace

llvm::Error checkSchema(sqlite3* db, const std::string& path, bool writable) {
  auto objects = number(db, path, "SELECT count(*) FROM sqlite_master");
  if (!objects) return objects.takeError();
  if (*objects == 0) return llvm::Error::success();
  auto application = number(db, path, "PRAGMA application_id");
  if (!application) return application.takeError();
  auto version = number(db, path, "PRAGMA user_version");
  if (!version) return version.takeError();
  if (*application != kApplicationId) {
    return llvm::createStringError(fmt::format(
        "{}: is a database of some other program; move it away or choose another folder with --results DIR", path));
  }
  if (*version < 1 || *version > kSchemaVersion) {
    return llvm::createStringError(fmt::format(
        "{}: has schema version {}, this expc knows version {}; use the expc that wrote it, or another folder with "
        "--results DIR",
        path, *version, kSchemaVersion));
  }
  std::string verdict;
  {
    Statement check(db, path, "PRAGMA quick_check(1)");  // gone before the schema changes: it holds a lock
    if (check.step()) verdict = check.text(0);
    if (auto error = check.take()) return error;
  }
  if (verdict == "ok" && *version == 1) {
    if (!writable) return execute(db, path, kReadVersion1);
    return transaction(db, path, [&] { return execute(db, path, kFrom1To2); });
  }
  if (verdict == "ok") return llvm::Error::success();
  return llvm::createStringError(
      fmt::format("{}: is damaged ({}); move it away (mv '{}' '{}.damaged') and either start anew or put the last "
                  "snapshot in its place (cp "
                  "snapshot.sqlite expc.sqlite in that folder)",
                  path, verdict, path, path));
}

llvm::Error createSchema(sqlite3* db, const std::string& path) {
  auto objects = number(db, path, "SELECT count(*) FROM sqlite_master");
  if (!objects) return objects.takeError();
  if (*objects != 0) return llvm::Error::success();
  return transaction(db, path, [&]() -> llvm::Error {
    if (auto error = execute(db, path, kTables)) return error;
    std::string marks =
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kSchemaVersion);
    return execute(db, path, marks.c_str());
  });
}

}  // namespace expc::store
