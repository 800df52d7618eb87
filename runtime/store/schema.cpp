#include "runtime/store/schema.h"

#include <fmt/format.h>

#include "runtime/store/sqlite.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

constexpr int64_t kApplicationId = 0x65787063;  // "expc"

// Statuses and kinds are words, so that a reader with nothing but sqlite3 understands the file. `trial` is a view for
// the same reason: the keys that trials share are rows of their own.
constexpr const char* kTables = R"sql(
CREATE TABLE store(name TEXT NOT NULL);
CREATE TABLE journal(
  name TEXT PRIMARY KEY, epoch INTEGER NOT NULL, bytes INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE session(
  id INTEGER PRIMARY KEY, host TEXT NOT NULL, nodes TEXT NOT NULL, lane TEXT NOT NULL, boots TEXT NOT NULL,
  workers TEXT NOT NULL, environment TEXT NOT NULL,
  opened REAL NOT NULL, opened_boot REAL NOT NULL, last_seen REAL NOT NULL, last_seen_boot REAL NOT NULL);
CREATE TABLE plan(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run(
  id INTEGER PRIMARY KEY, study TEXT NOT NULL, plan_digest TEXT NOT NULL,
  plan TEXT NOT NULL REFERENCES plan(hash), session INTEGER NOT NULL REFERENCES session(id),
  null_cards INTEGER NOT NULL, match TEXT NOT NULL,
  started REAL NOT NULL, started_boot REAL NOT NULL, ended REAL, ended_boot REAL, outcome TEXT NOT NULL,
  judged TEXT NOT NULL);
CREATE INDEX run_of_study ON run(study, null_cards);
CREATE TABLE block(
  id INTEGER PRIMARY KEY, study TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL, seed INTEGER NOT NULL,
  session INTEGER NOT NULL REFERENCES session(id), settings TEXT NOT NULL, places TEXT NOT NULL);
CREATE INDEX block_of_study ON block(study, kind, number);
CREATE TABLE trial_key(
  id INTEGER PRIMARY KEY, point TEXT NOT NULL, label TEXT NOT NULL, kind TEXT NOT NULL, settings TEXT NOT NULL,
  data_digest TEXT NOT NULL, readings TEXT NOT NULL, worker_build TEXT NOT NULL, environment_class TEXT NOT NULL);
CREATE INDEX key_of_point ON trial_key(point);
CREATE TABLE trial_row(
  id INTEGER PRIMARY KEY, key INTEGER NOT NULL REFERENCES trial_key(id), run INTEGER NOT NULL,
  block INTEGER NOT NULL REFERENCES block(id), session INTEGER NOT NULL REFERENCES session(id),
  position INTEGER NOT NULL, attempt INTEGER NOT NULL,
  status TEXT NOT NULL, reason TEXT NOT NULL, log_tail TEXT NOT NULL,
  started REAL NOT NULL, seconds REAL NOT NULL, time_limit REAL NOT NULL,
  devices TEXT NOT NULL, environment TEXT NOT NULL, notes TEXT NOT NULL,
  UNIQUE(block, position, attempt));
CREATE INDEX trial_of_key ON trial_row(key);
CREATE INDEX running_trial ON trial_row(status) WHERE status = 'running';
CREATE UNIQUE INDEX one_valid_trial ON trial_row(block, position) WHERE status = 'valid';
CREATE TABLE metric_value(
  trial INTEGER NOT NULL REFERENCES trial_row(id), name TEXT NOT NULL,
  value REAL,
  PRIMARY KEY(trial, name)) WITHOUT ROWID;
CREATE TABLE series(
  trial INTEGER NOT NULL REFERENCES trial_row(id), name TEXT NOT NULL, numbers BLOB NOT NULL,
  PRIMARY KEY(trial, name)) WITHOUT ROWID;
CREATE TABLE adopted(
  store TEXT NOT NULL, what TEXT NOT NULL, theirs INTEGER NOT NULL, ours INTEGER NOT NULL,
  PRIMARY KEY(store, what, theirs)) WITHOUT ROWID;
CREATE VIEW trial AS
  SELECT trial_row.id, point, label, kind, settings, run, block, session, position, attempt, status, reason, log_tail,
         started, seconds, time_limit, environment_class, worker_build, data_digest, devices, environment, notes
  FROM trial_row JOIN trial_key ON trial_key.id = trial_row.key;
CREATE VIEW measurement AS
  SELECT trial.id AS trial, point, label AS control, trial.kind, metric_value.name AS metric, value, status, reason, run,
         trial.session, host, block, block.study AS block_study, number AS block_number, printf('0x%016x', seed) AS seed,
         position, attempt, strftime('%Y-%m-%dT%H:%M:%fZ', started, 'unixepoch') AS started, seconds,
         nullif(time_limit, 0) AS time_limit, devices, trial.settings, worker_build, environment_class, data_digest,
         environment_class LIKE 'null-%' AS null_cards
  FROM trial JOIN block ON block.id = trial.block JOIN session ON session.id = trial.session
       LEFT JOIN metric_value ON metric_value.trial = trial.id
  WHERE status NOT IN ('running', 'interrupted');
CREATE VIEW point AS
  SELECT DISTINCT study, json_extract(p.value, '$.id') AS id, json_extract(p.value, '$.parameters') AS parameters
  FROM run JOIN plan ON plan.hash = run.plan, json_each(plan.text, '$.points') AS p;
)sql";

llvm::Expected<int64_t> number(sqlite3* db, const std::string& path, const char* sql) {
  Statement statement(db, path, sql);
  int64_t result = statement.step() ? statement.integer(0) : 0;
  if (auto error = statement.take()) return error;
  return result;
}

/// How its tables, indices, views and triggers are declared.
std::string declarations(sqlite3* db, const std::string& path) {
  Statement statement(db, path,
                      "SELECT coalesce(group_concat(sql, ';'), '') FROM (SELECT sql FROM sqlite_master ORDER BY name)");
  std::string text = statement.step() ? statement.text(0) : "";
  llvm::consumeError(statement.take());  // "" is not ours either
  return text;
}

/// Of a database that this program makes.
const std::string& ownDeclarations() {
  static const std::string text = [] {
    sqlite3* db = nullptr;
    sqlite3_open(":memory:", &db);
    llvm::cantFail(execute(db, ":memory:", kTables));
    std::string own = declarations(db, ":memory:");
    sqlite3_close(db);
    return own;
  }();
  return text;
}

}  // namespace

llvm::Expected<SchemaState> schemaOf(sqlite3* db, const std::string& path) {
  auto objects = number(db, path, "SELECT count(*) FROM sqlite_master");
  if (!objects) return objects.takeError();
  if (*objects == 0) return SchemaState::New;
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
  Statement check(db, path, "PRAGMA quick_check(1)");
  const bool intact = check.step() && check.text(0) == "ok";
  llvm::consumeError(check.take());  // that it cannot be read through is what was asked
  if (!intact) return SchemaState::Damaged;
  if (*version < kSchemaVersion) return SchemaState::Older;
  return declarations(db, path) == ownDeclarations() ? SchemaState::Current : SchemaState::Damaged;
}

llvm::Error createSchema(sqlite3* db, const std::string& path) {
  if (auto error = execute(db, path, kTables)) return error;
  const std::string marks =
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kSchemaVersion);
  return execute(db, path, marks.c_str());
}

}  // namespace expc::store
