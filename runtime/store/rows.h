#pragma once

// Rows to records and back. Private to this directory.

#include <string>
#include <vector>

#include "runtime/store/records.h"
#include "runtime/store/sqlite.h"

namespace expc::store {

std::string textsToJson(const std::vector<std::string>& texts);
std::vector<std::string> textsFromJson(const std::string& text);

/// The columns that each reader expects, in its order.
inline constexpr const char* kSessionColumns =
    "id, nodes, lane, boots, workers, environment, opened, opened_boot, last_seen, last_seen_boot";
inline constexpr const char* kRunColumns =
    "id, study, plan_digest, plan, session, match, started, started_boot, ended, ended_boot, outcome, judged";
inline constexpr const char* kBlockColumns = "id, study, kind, number, seed, session, settings, places";
inline constexpr const char* kKeyColumns =
    "id, point, label, kind, settings, data_digest, readings, worker_build, environment_class";
inline constexpr const char* kTrialColumns =
    "id, run, block, session, position, attempt, status, reason, log_tail, started, seconds, time_limit, devices, "
    "environment, notes";

// What is in the database was written by us; a hand-edited row must not crash a reader, so anything odd reads as empty.
Session readSession(const Statement& row);
/// Its `plan_json` is the hash.
Run readRun(const Statement& row);
BlockPlan readBlock(const Statement& row);
/// Without its number.
TrialKey readKey(const Statement& row);
/// Without key, metrics and series.
Trial readTrial(const Statement& row);
/// Timed for a word that this version does not know.
plan::TrialKind kindFromText(const std::string& text);

/// Adds metrics and series of the trial that has the number `id` in this database.
llvm::Error readValues(sqlite3* db, const std::string& path, int64_t id, Trial& trial);

}  // namespace expc::store
