#pragma once

// Rows to records and back. Private to this directory.

#include <map>
#include <string>
#include <vector>

#include "runtime/store/records.h"
#include "runtime/store/sqlite.h"
#include "runtime/store/store.h"

namespace expc::store {

std::string textsToJson(const std::vector<std::string>& texts);
std::vector<std::string> textsFromJson(const std::string& text);
std::string digestsToText(const std::map<std::string, std::string>& digests);
std::map<std::string, std::string> digestsFromText(const std::string& text);

/// The columns that each reader expects, in its order.
inline constexpr const char* kSessionColumns =
    "id, host, boot_id, environment_class, worker_build, environment, opened, last_seen";
inline constexpr const char* kRunColumns =
    "id, study, plan_digest, plan, session, environment_class, worker_build, data_digests, started, ended, outcome";
inline constexpr const char* kBlockColumns = "id, study, kind, number, seed, session, settings, points";
inline constexpr const char* kTrialColumns =
    "id, point, kind, settings, block, session, position, attempt, status, reason, log_tail, started, ended, "
    "environment_class, worker_build, data_digest, devices, environment, notes, label";
Session readSession(const Statement& row);
Run readRun(const Statement& row);
BlockPlan readBlock(const Statement& row);
/// Without metrics and series.
Trial readTrial(const Statement& row);

/// Adds metrics and series to a trial.
llvm::Error readValues(sqlite3* db, const std::string& path, Trial& trial);

}  // namespace expc::store
