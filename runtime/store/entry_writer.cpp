#include "runtime/store/entry_writer.h"

#include "runtime/plan/json.h"
#include "runtime/store/rows.h"

namespace expc::store {
namespace {

template <typename T>
std::string jsonOf(const T& record) {
  return plan::canonicalJson(toJson(record));
}

std::string text(std::string_view view) { return std::string(view); }

}  // namespace

std::optional<int> EntryWriter::run(const char* sql, std::initializer_list<Bound> values) {
  Statement& statement = statements_.try_emplace(sql, db_, path_, sql).first->second;
  statement.bind(values).step();
  if (statement.failedConstraint()) {
    statement.forget();
    return std::nullopt;
  }
  if (auto error = statement.take()) {
    if (failed_.empty()) failed_ = llvm::toString(std::move(error));
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return sqlite3_changes(db_);
}

llvm::Expected<bool> EntryWriter::apply(const Entry& entry) {
  if (!run("SAVEPOINT entry", {}) && !failed_.empty()) return llvm::createStringError(failed_);
  const bool taken = std::visit(*this, entry);
  if (!taken) run("ROLLBACK TO entry", {});
  run("RELEASE entry", {});
  if (!failed_.empty()) return llvm::createStringError(failed_);
  return taken;
}

bool EntryWriter::operator()(const Opened& entry) {
  run("INSERT INTO store SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM store)", {entry.store});
  return true;
}

bool EntryWriter::operator()(const Session& entry) {
  return one(
      "INSERT INTO session(id, host, nodes, lane, boots, workers, environment, opened, opened_boot, last_seen, "
      "last_seen_boot) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      {entry.id, entry.where.machine(), textsToJson(entry.where.nodes), entry.where.lane,
       textsToJson(entry.where.boots), jsonOf(entry.workers), entry.environment_json, entry.opened.wall,
       entry.opened.boot, entry.last_seen.wall, entry.last_seen.boot});
}

bool EntryWriter::operator()(const Seen& entry) {
  return one("UPDATE session SET last_seen = ?2, last_seen_boot = ?3 WHERE id = ?1",
             {entry.session, entry.at.wall, entry.at.boot});
}

bool EntryWriter::operator()(const PlanText& entry) {
  run("INSERT OR IGNORE INTO plan(hash, text) VALUES(?1, ?2)", {entry.hash, entry.text});
  return true;
}

bool EntryWriter::operator()(const RunBegan& entry) {
  const Run& run = entry.run;
  return one(
      "INSERT INTO run(id, study, plan_digest, plan, session, null_cards, match, started, started_boot, outcome, "
      "judged) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '', '')",
      {run.id, run.study, run.plan_digest, entry.plan, run.session, int64_t(run.match.onNullCards()), jsonOf(run.match),
       run.started.wall, run.started.boot});
}

bool EntryWriter::operator()(const RunEnded& entry) {
  return one("UPDATE run SET ended = ?2, ended_boot = ?3, outcome = ?4, judged = ?5 WHERE id = ?1",
             {entry.run, entry.at.wall, entry.at.boot, entry.outcome, entry.judged});
}

bool EntryWriter::operator()(const BlockPlan& entry) {
  const Block& block = entry.block;
  return one(
      "INSERT INTO block(id, study, kind, number, seed, session, settings, places) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      {block.id, block.study, text(toString(block.kind)), int64_t(block.number), int64_t(block.seed), block.session,
       entry.settings, jsonOf(entry.places)});
}

bool EntryWriter::operator()(const KeyAdded& entry) {
  const TrialKey& key = entry.key;
  return one(
      "INSERT INTO trial_key(id, point, label, kind, settings, data_digest, readings, worker_build, "
      "environment_class) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
      {entry.id, key.place.point, key.place.control, text(toString(key.kind)), key.settings, key.data,
       jsonOf(key.readings), key.worker_build, key.environment_class});
}

bool EntryWriter::operator()(const TrialBegan& entry) {
  const Trial& trial = entry.trial;
  return one(
      "INSERT INTO trial_row(id, key, run, block, session, position, attempt, status, reason, log_tail, started, "
      "seconds, time_limit, devices, environment, notes) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 'running', '', '', ?8, 0, ?9, ?10, '{}', '[]')",
      {trial.id, entry.key, trial.run, trial.block, trial.session, int64_t(trial.position), int64_t(trial.attempt),
       trial.started, trial.limit, trial.devices});
}

bool EntryWriter::operator()(const TrialEnded& entry) {
  const Trial& trial = entry.trial;
  return one("UPDATE trial_row SET status = ?2, reason = ?3, log_tail = ?4, seconds = ?5, environment = ?6, notes = ?7 "
             "WHERE id = ?1 AND status = 'running'",
             {trial.id, text(toString(trial.status)), trial.reason, trial.log_tail, trial.seconds,
              trial.environment_json, textsToJson(trial.notes)}) &&
         values(trial) && (*this)(Seen{trial.session, entry.at});
}

bool EntryWriter::operator()(const Reread& entry) {
  const int64_t id = entry.trial.id;
  return one("UPDATE trial_row SET key = ?2, status = 'valid', reason = '' WHERE id = ?1 AND status IN ('valid', "
             "'failed')",
             {id, entry.key}) &&
         run("DELETE FROM metric_value WHERE trial = ?1", {id}) && run("DELETE FROM series WHERE trial = ?1", {id}) &&
         values(entry.trial);
}

bool EntryWriter::operator()(const Adopted& entry) {
  return one("INSERT INTO adopted(store, what, theirs, ours) VALUES(?1, ?2, ?3, ?4)",
             {entry.store, entry.what, entry.theirs, entry.ours});
}

bool EntryWriter::values(const Trial& trial) {
  constexpr const char* kValue = "INSERT INTO metric_value(trial, name, value) VALUES(?1, ?2, ?3)";
  for (const auto& [name, value] : trial.metrics)
    if (!one(kValue, {trial.id, name, value})) return false;
  for (const std::string& name : trial.not_on_device)
    if (!one(kValue, {trial.id, name, nullptr})) return false;
  for (const auto& [name, numbers] : trial.series)
    if (!one("INSERT INTO series(trial, name, numbers) VALUES(?1, ?2, ?3)", {trial.id, name, numbers})) return false;
  return true;
}

}  // namespace expc::store
