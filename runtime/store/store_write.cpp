// Store: sessions, runs, blocks and trials, as they come into being. Blocks and trials are written only while the lease
// is ours.

#include <fmt/format.h>
#include <llvm/Support/JSON.h>

#include "runtime/plan/json.h"
#include "runtime/store/rows.h"
#include "runtime/store/sqlite.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

/// Runs one INSERT in a transaction of its own; the new row's id.
llvm::Expected<int64_t> insert(sqlite3* db, const std::string& path, const char* sql,
                               std::initializer_list<Bound> values) {
  llvm::Error error = transaction(db, path, [&] {
    Statement statement(db, path, sql);
    statement.bind(values).step();
    return statement.take();
  });
  if (error) return error;
  return sqlite3_last_insert_rowid(db);
}

llvm::Error update(sqlite3* db, const std::string& path, const char* sql, std::initializer_list<Bound> values) {
  Statement statement(db, path, sql);
  statement.bind(values).step();
  return statement.take();
}

std::string text(std::string_view view) { return std::string(view); }

}  // namespace

llvm::Expected<int64_t> Store::addSession(const Session& session) {
  return insert(db_, path_,
                "INSERT INTO session(host, boot_id, environment_class, worker_build, environment, opened, last_seen) "
                "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                {session.host, session.boot_id, session.environment_class, session.worker_build,
                 session.environment_json, session.opened, session.last_seen});
}

llvm::Error Store::touchSession(int64_t session, double now) {
  return update(db_, path_, "UPDATE session SET last_seen = max(last_seen, ?2) WHERE id = ?1", {session, now});
}

llvm::Expected<int64_t> Store::addRun(const Run& run) {
  return insert(
      db_, path_,
      "INSERT INTO run(study, plan_digest, plan, session, environment_class, worker_build, data_digests, started, "
      "outcome) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '')",
      {run.study, run.plan_digest, run.plan_json, run.session, run.match.environment_class, run.match.worker_build,
       digestsToText(run.match.data_digests), run.started});
}

llvm::Error Store::endRun(int64_t run, double now, std::string_view outcome) {
  return update(db_, path_, "UPDATE run SET ended = ?2, outcome = ?3 WHERE id = ?1", {run, now, text(outcome)});
}

llvm::Expected<int64_t> Store::addBlock(const BlockPlan& plan) {
  if (auto error = heartbeat()) return error;
  const Block& block = plan.block;
  return insert(
      db_, path_,
      "INSERT INTO block(study, kind, number, seed, session, settings, points) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      {block.study, text(plan::toString(block.kind)), int64_t(block.number), int64_t(block.seed), block.session,
       plan.settings, textsToJson(plan.points)});
}

llvm::Expected<int64_t> Store::beginTrial(const Trial& trial) {
  if (auto error = heartbeat()) return error;
  return insert(
      db_, path_,
      "INSERT INTO trial(point, kind, settings, block, session, position, attempt, status, reason, log_tail, started, "
      "environment_class, worker_build, data_digest, devices, environment, notes, label) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 'running', '', '', ?8, ?9, ?10, ?11, ?12, '{}', '[]', ?13)",
      {trial.point, text(plan::toString(trial.kind)), trial.settings, trial.block, trial.session,
       int64_t(trial.position), int64_t(trial.attempt), trial.started, trial.environment_class, trial.worker_build,
       trial.data_digest, trial.devices, trial.label});
}

llvm::Error Store::endTrial(const Trial& trial) {
  if (auto error = heartbeat()) return error;
  return transaction(db_, path_, [&]() -> llvm::Error {
    llvm::Error error = update(db_, path_,
                               "UPDATE trial SET status = ?2, reason = ?3, log_tail = ?4, ended = ?5, environment = "
                               "?6, notes = ?7 WHERE id = ?1",
                               {trial.id, text(toString(trial.status)), trial.reason, trial.log_tail, trial.ended,
                                trial.environment_json, textsToJson(trial.notes)});
    if (error) return error;
    Statement value(db_, path_, "INSERT INTO metric_value(trial, name, value) VALUES(?1, ?2, ?3)");
    for (const auto& [name, number] : trial.metrics) value.bind({trial.id, name, number}).step();
    for (const std::string& name : trial.not_on_device) value.bind({trial.id, name, nullptr}).step();
    if (auto failed = value.take()) return failed;
    Statement series(db_, path_, "INSERT INTO series(trial, name, numbers) VALUES(?1, ?2, ?3)");
    for (const auto& [name, numbers] : trial.series) {
      series.bind({trial.id, name});
      series.bindReals(3, numbers);
      series.step();
    }
    if (auto failed = series.take()) return failed;
    return touchSession(trial.session, trial.ended);
  });
}

}  // namespace expc::store
