// `expc store export`: writes the records of a store as one SQLite file (docs/export.md). The file is made anew
// under a temporary name and renamed, so it appears whole or not at all. SQLite is only an output format here: the
// store never reads it.

#include <sqlite3.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/marks.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/store/entry.h"
#include "runtime/store/maintenance.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

// Statuses and kinds are words, so that a reader with nothing but sqlite3 understands the file.
constexpr const char* kTables = R"sql(
CREATE TABLE session(
  id INTEGER PRIMARY KEY, host TEXT, nodes TEXT, lane TEXT, boots TEXT, workers TEXT, environment TEXT,
  opened REAL, opened_boot REAL, last_seen REAL, last_seen_boot REAL);
CREATE TABLE plan(hash TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
CREATE TABLE run(
  id INTEGER PRIMARY KEY, study TEXT, plan_digest TEXT, plan TEXT REFERENCES plan(hash),
  session INTEGER REFERENCES session(id), null_cards INTEGER, match TEXT, started REAL, started_boot REAL, ended REAL,
  ended_boot REAL, outcome TEXT, judged TEXT);
CREATE TABLE block(
  id INTEGER PRIMARY KEY, study TEXT, kind TEXT, number INTEGER, seed INTEGER, session INTEGER REFERENCES session(id),
  settings TEXT, places TEXT);
CREATE TABLE trial(
  id INTEGER PRIMARY KEY, point TEXT, label TEXT, kind TEXT, settings TEXT, run INTEGER,
  block INTEGER REFERENCES block(id), session INTEGER REFERENCES session(id), position INTEGER, attempt INTEGER,
  status TEXT, reason TEXT, log_tail TEXT, started REAL, seconds REAL, time_limit REAL, environment_class TEXT,
  worker_build TEXT, data_digest TEXT, devices TEXT, environment TEXT, notes TEXT);
CREATE TABLE metric_value(
  trial INTEGER REFERENCES trial(id), name TEXT, value REAL, PRIMARY KEY(trial, name)) WITHOUT ROWID;
CREATE TABLE series(
  trial INTEGER REFERENCES trial(id), name TEXT, numbers BLOB, PRIMARY KEY(trial, name)) WITHOUT ROWID;
CREATE TABLE row_value(
  trial INTEGER REFERENCES trial(id), levels TEXT, name TEXT, value REAL, PRIMARY KEY(trial, levels, name)) WITHOUT ROWID;
CREATE VIEW measurement AS
  SELECT trial.id AS trial, point, label AS control, trial.kind, metric_value.name AS metric, value, status, reason, run,
         trial.session, host, block, block.study AS block_study, number AS block_number, printf('0x%016x', seed) AS seed,
         position, attempt, strftime('%Y-%m-%dT%H:%M:%fZ', CAST(started * 1000 AS INTEGER) / 1000.0, 'unixepoch') AS started, seconds,
         nullif(time_limit, 0) AS time_limit, devices, trial.settings, worker_build, environment_class, data_digest,
         environment_class LIKE 'null-%' AS null_cards
  FROM trial JOIN block ON block.id = trial.block JOIN session ON session.id = trial.session
       LEFT JOIN metric_value ON metric_value.trial = trial.id
  WHERE status NOT IN ('running', 'interrupted');
CREATE VIEW point AS
  SELECT DISTINCT study, json_extract(p.value, '$.id') AS id, json_extract(p.value, '$.parameters') AS parameters
  FROM run JOIN plan ON plan.hash = run.plan, json_each(plan.text, '$.points') AS p;
)sql";

/// A value in a row. Texts and series (which become blobs) are referred to, not copied.
using Cell = std::variant<std::nullptr_t, int64_t, double, std::string_view, const std::vector<double>*>;

/// A new SQLite file that rows are added to. After the first error nothing more is written; code() tells it.
class Tables {
 public:
  explicit Tables(const std::string& path) {
    // Nobody else knows the file, so it needs no locks, and these cannot be trusted on network file systems.
    check(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix-none"));
    // A journal and syncs would protect a file that is thrown away after an error anyway.
    execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    execute(fmt::format("PRAGMA application_id = {}", files::kSqliteMark).c_str());
    execute(kTables);
  }
  ~Tables() {
    for (const auto& [table, statement] : inserts_) sqlite3_finalize(statement);
    sqlite3_close_v2(db_);
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  void execute(const char* sql) {
    if (code_ == SQLITE_OK) check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr));
  }

  /// Adds a row to a table. Statements are prepared once per table; every row of a table has the same number of
  /// cells.
  void add(const char* table, std::initializer_list<Cell> row) {
    sqlite3_stmt*& insert = inserts_[table];
    if (code_ == SQLITE_OK && !insert) {
      std::string places = "?";
      for (size_t i = 1; i < row.size(); ++i) places += ", ?";
      const std::string sql = fmt::format("INSERT INTO {} VALUES({})", table, places);
      check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &insert, nullptr));
    }
    if (code_ != SQLITE_OK) return;
    int column = 0;
    for (const Cell& cell : row)
      check(std::visit([&](const auto& value) { return bind(insert, ++column, value); }, cell));
    check(sqlite3_step(insert));
    sqlite3_reset(insert);
  }

  /// SQLite's code of the first error.
  int code() const { return code_; }

 private:
  void check(int code) {
    // Stepping an INSERT ends with SQLITE_DONE, which is no error.
    if (code_ == SQLITE_OK && code != SQLITE_DONE) code_ = code;
  }
  static int bind(sqlite3_stmt* to, int column, std::nullptr_t) { return sqlite3_bind_null(to, column); }
  static int bind(sqlite3_stmt* to, int column, int64_t value) { return sqlite3_bind_int64(to, column, value); }
  /// SQLite stores NaN as NULL, which means "not on this device" here. A value that diverged is stored as infinity.
  static int bind(sqlite3_stmt* to, int column, double value) {
    return sqlite3_bind_double(to, column, std::isnan(value) ? INFINITY : value);
  }
  // SQLITE_STATIC: values live until the row is written. An empty text needs a pointer, since a null one is NULL.
  static int bind(sqlite3_stmt* to, int column, std::string_view value) {
    return sqlite3_bind_text64(to, column, value.empty() ? "" : value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  static int bind(sqlite3_stmt* to, int column, const std::vector<double>* value) {
    const void* data = value->empty() ? static_cast<const void*>("") : value->data();
    return sqlite3_bind_blob64(to, column, data, value->size() * sizeof(double), SQLITE_STATIC);
  }

  sqlite3* db_ = nullptr;
  std::map<std::string_view, sqlite3_stmt*> inserts_;  // by table
  int code_ = SQLITE_OK;
};

/// Members that hold structure are written as JSON texts, which SQLite can take apart (json_extract).
std::string jsonOf(json::Value value) { return canonicalJson(value); }

std::string jsonOf(const std::vector<Worker>& workers) {
  json::Array array;
  for (const Worker& worker : workers) array.push_back(base::written(worker));
  return jsonOf(std::move(array));
}

/// A metric that the device cannot give has a row with NULL, so that it differs from one that was not asked for.
void write(const Trial& trial, Tables& to) {
  const TrialKey& key = *trial.key;
  to.add("trial", {trial.id,
                   key.place.point,
                   key.place.control,
                   toString(key.kind),
                   key.settings,
                   trial.run,
                   trial.block,
                   trial.session,
                   int64_t(trial.position),
                   int64_t(trial.attempt),
                   toString(trial.status),
                   trial.reason,
                   trial.log_tail,
                   trial.started,
                   trial.seconds,
                   trial.limit,
                   key.environment_class,
                   key.worker_build,
                   key.data,
                   trial.devices,
                   trial.environment_json,
                   jsonOf(plan::toJson(trial.notes))});
  for (const auto& [name, value] : trial.metrics) to.add("metric_value", {trial.id, name, value});
  for (const std::string& name : trial.not_on_device) to.add("metric_value", {trial.id, name, nullptr});
  for (const auto& [name, numbers] : trial.series) to.add("series", {trial.id, name, &numbers});
  for (const auto& [key, row] : trial.rows) {
    for (const auto& [name, value] : row.metrics) to.add("row_value", {trial.id, key, name, value});
    for (const std::string& name : row.not_on_device) to.add("row_value", {trial.id, key, name, nullptr});
  }
}

/// Parents before children, so that references hold in this order.
void write(const Contents& contents, Tables& to) {
  for (const auto& [id, session] : contents.sessions)
    to.add("session", {id, session.where.machine(), jsonOf(base::jsonTexts(session.where.nodes)), session.where.lane,
                       jsonOf(base::jsonTexts(session.where.boots)), jsonOf(session.workers), session.environment_json,
                       session.opened.wall, session.opened.boot, session.last_seen.wall, session.last_seen.boot});
  for (const auto& [hash, text] : contents.plans) to.add("plan", {hash, text});
  for (const auto& [id, run] : contents.runs)
    to.add("run", {id, run.study, run.plan_digest, run.plan_json, run.session, int64_t(run.match.onNullCards()),
                   jsonOf(base::written(run.match)), run.started.wall, run.started.boot, run.ended.wall, run.ended.boot,
                   run.outcome ? base::wordOf(kOutcomes, run.outcome->kind).str() : std::string(),
                   run.judged ? jsonOf(base::written(*run.judged)) : std::string()});
  for (const auto& [id, plan] : contents.blocks)
    to.add("block", {id, plan.block.study, toString(plan.block.kind), int64_t(plan.block.number),
                     int64_t(plan.block.seed), plan.block.session, plan.settings, jsonOf(toJson(plan.places))});
  for (const auto& [id, trial] : contents.trials) write(trial, to);
}

}  // namespace

Error exportSql(const std::string& folder, const std::string& file, std::vector<std::string>& messages) {
  if (files::isThere(file)) return failure("{} exists; name a new file", file);
  auto store = TRY(Store::openForReading(folder, messages));
  return files::writeBy(file, [&](const std::string& temporary) -> Error {
    close(files::openLog(temporary));  // SQLite would make it without the group's permissions
    Tables tables(temporary);
    write(store.contents(), tables);
    tables.execute("COMMIT");
    if (tables.code() == SQLITE_OK) return Error::success();
    return failure("cannot write {}: {}", file, sqlite3_errstr(tables.code()));
  });
}

}  // namespace expc::store
