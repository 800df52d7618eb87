#include "runtime/store/legacy.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <cmath>

#include "runtime/plan/json.h"
#include "runtime/store/rows.h"
#include "runtime/store/sqlite.h"

namespace expc::store {
namespace {

using Take = llvm::function_ref<llvm::Error(Entry&&)>;

/// "cpu-1 command-2" and "build command-1": those versions joined what two workers said of themselves with a space.
std::vector<Worker> workersOf(const std::string& classes, const std::string& builds) {
  llvm::SmallVector<llvm::StringRef, 2> each_class, each_build;
  llvm::StringRef(classes).split(each_class, ' ', -1, false);
  llvm::StringRef(builds).split(each_build, ' ', -1, false);
  std::vector<Worker> workers;
  for (size_t i = 0; i < std::min(each_class.size(), each_build.size()); ++i)
    workers.push_back({each_build[i].str(), each_class[i].str()});
  return workers;
}

Match matchOf(const std::string& classes, const std::string& builds, const std::string& digests) {
  Match match;
  for (Worker& worker : workersOf(classes, builds)) {
    const bool command = llvm::StringRef(worker.build).starts_with("command-");
    (command ? match.command : match.built_in) = std::move(worker);
  }
  auto pairs = plan::parseJson(digests);
  if (!pairs) {
    llvm::consumeError(pairs.takeError());
    return match;
  }
  if (const llvm::json::Array* array = pairs->getAsArray()) {
    for (const llvm::json::Value& element : *array) {
      const llvm::json::Array* pair = element.getAsArray();
      if (pair && pair->size() == 2)
        match.data_digests[(*pair)[0].getAsString().value_or("").str()] = (*pair)[1].getAsString().value_or("").str();
    }
  }
  return match;
}

/// "POINT" or "POINT#CONTROL".
plan::Place placeOf(llvm::StringRef text) {
  const auto [point, control] = text.split('#');
  return {point.str(), control.str()};
}

/// "1f2e metric=0a1b expect=…": the data's digest, then how things are read.
void readDigest(llvm::StringRef text, TrialKey& key) {
  llvm::SmallVector<llvm::StringRef, 8> words;
  text.split(words, ' ', -1, false);
  for (llvm::StringRef word : words) {
    const auto [name, digest] = word.split('=');
    if (digest.empty())
      key.data = word.str();
    else
      key.readings[name == "expect" ? ("expect " + digest).str() : name.str()] = digest.str();
  }
}

class LegacyReader {
 public:
  LegacyReader(sqlite3* db, const std::string& path, Take take) : db_(db), path_(path), take_(take) {}

  llvm::Error read() {
    if (auto error = sessions()) return error;
    if (auto error = runs()) return error;
    if (auto error = blocks()) return error;
    return trials();
  }

 private:
  llvm::Error each(const char* sql, llvm::function_ref<llvm::Error(const Statement&)> row) {
    Statement statement(db_, path_, sql);
    while (statement.step())
      if (auto error = row(statement)) return error;
    return statement.take();
  }

  llvm::Error sessions() {
    return each(
        "SELECT id, host, boot_id, environment_class, worker_build, environment, opened, last_seen FROM session",
        [&](const Statement& row) {
          Session session;
          session.id = row.integer(0);
          session.where = sessionPlaceFromText(row.text(1), row.text(2));
          session.workers = workersOf(row.text(3), row.text(4));
          session.environment_json = row.text(5);
          session.opened.wall = row.real(6);
          session.last_seen.wall = row.real(7);
          return take_(std::move(session));
        });
  }

  llvm::Error runs() {
    return each(
        "SELECT id, study, plan_digest, plan, session, environment_class, worker_build, data_digests, started, "
        "ended, outcome FROM run",
        [&](const Statement& row) -> llvm::Error {
          RunBegan began;
          began.run.id = row.integer(0);
          began.run.study = row.text(1);
          began.run.plan_digest = row.text(2);
          PlanText text{plan::shortHash(row.text(3)), row.text(3)};
          began.plan = text.hash;
          began.run.session = row.integer(4);
          began.run.match = matchOf(row.text(5), row.text(6), row.text(7));
          began.run.started.wall = row.real(8);
          const RunEnded ended{began.run.id, {row.real(9), 0}, row.text(10)};
          if (auto error = take_(std::move(text))) return error;
          if (auto error = take_(std::move(began))) return error;
          return ended.outcome.empty() ? llvm::Error::success() : take_(ended);
        });
  }

  llvm::Error blocks() {
    return each("SELECT id, study, kind, number, seed, session, settings, points FROM block",
                [&](const Statement& row) {
                  BlockPlan plan;
                  plan.block.id = row.integer(0);
                  plan.block.study = row.text(1);
                  plan.block.kind = kindFromText(row.text(2));
                  plan.block.number = uint64_t(row.integer(3));
                  plan.block.seed = uint64_t(row.integer(4));
                  plan.block.session = row.integer(5);
                  plan.settings = row.text(6);
                  for (const std::string& place : textsFromJson(row.text(7))) plan.places.push_back(placeOf(place));
                  return take_(std::move(plan));
                });
  }

  llvm::Error trials() {
    Statement columns(db_, path_, "SELECT count(*) FROM pragma_table_info('trial') WHERE name = 'label'");
    const bool labelled = columns.step() && columns.integer(0) > 0;
    if (auto error = columns.take()) return error;
    const std::string sql = fmt::format(
        "SELECT id, point, {}, kind, settings, block, session, position, attempt, status, reason, log_tail, started, "
        "coalesce(ended, started), environment_class, worker_build, data_digest, devices, environment, notes FROM "
        "trial "
        "ORDER BY id",
        labelled ? "label" : "''");
    return each(sql.c_str(), [&](const Statement& row) { return trial(row); });
  }

  llvm::Error trial(const Statement& row) {
    TrialKey key;
    key.place = {row.text(1), row.text(2)};
    key.kind = kindFromText(row.text(3));
    key.settings = row.text(4);
    key.environment_class = row.text(14);
    key.worker_build = row.text(15);
    readDigest(row.text(16), key);
    Trial trial;
    trial.id = row.integer(0);
    trial.block = row.integer(5);
    trial.session = row.integer(6);
    trial.position = unsigned(row.integer(7));
    trial.attempt = unsigned(row.integer(8));
    trial.status = trialStatusFromString(row.text(9)).value_or(TrialStatus::Failed);
    trial.reason = row.text(10);
    trial.log_tail = row.text(11);
    trial.started = row.real(12);
    trial.seconds = std::max(0.0, row.real(13) - row.real(12));
    trial.devices = row.text(17);
    trial.environment_json = row.text(18);
    trial.notes = textsFromJson(row.text(19));
    if (auto error = values(trial)) return error;
    const auto [known, fresh] = keys_.try_emplace(key, int64_t(keys_.size()) + 1);
    if (fresh)
      if (auto error = take_(KeyAdded{known->second, std::move(key)})) return error;
    if (auto error = take_(TrialBegan{trial, known->second})) return error;
    if (trial.status == TrialStatus::Running) return llvm::Error::success();
    return take_(TrialEnded{std::move(trial), {row.real(13), 0}});
  }

  /// What is not finite no journal can say, and no worker ever said.
  llvm::Error values(Trial& trial) {
    if (auto error = readValues(db_, path_, trial.id, trial)) return error;
    std::erase_if(trial.metrics, [&](const auto& metric) {
      if (std::isfinite(metric.second)) return false;
      trial.not_on_device.push_back(metric.first);
      return true;
    });
    return llvm::Error::success();
  }

  sqlite3* db_;
  const std::string& path_;
  Take take_;
  std::map<TrialKey, int64_t> keys_;
};

}  // namespace

llvm::Error readLegacy(sqlite3* db, const std::string& path, Take take) { return LegacyReader(db, path, take).read(); }

}  // namespace expc::store
