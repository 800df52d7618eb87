#include "runtime/store/rows.h"

#include "runtime/plan/json.h"

namespace expc::store {
namespace {

/// What is in the database was written by us; a hand-edited row must not crash a reader, so anything odd reads as
/// empty.
llvm::json::Value parse(const std::string& text) {
  auto value = plan::parseJson(text);
  if (value) return std::move(*value);
  llvm::consumeError(value.takeError());
  return nullptr;
}

TrialStatus statusFromText(const std::string& text) {
  for (TrialStatus status : {TrialStatus::Running, TrialStatus::Valid, TrialStatus::Timeout, TrialStatus::Infeasible,
                             TrialStatus::Interrupted}) {
    if (toString(status) == text) return status;
  }
  return TrialStatus::Failed;
}

plan::TrialKind kindFromText(const std::string& text) {
  return plan::trialKindFromString(text).value_or(plan::TrialKind::Timed);
}

}  // namespace

std::string textsToJson(const std::vector<std::string>& texts) {
  return plan::canonicalJson(llvm::json::Value(plan::jsonTexts(texts)));
}

std::vector<std::string> textsFromJson(const std::string& text) {
  std::vector<std::string> result;
  llvm::json::Value value = parse(text);
  if (const llvm::json::Array* array = value.getAsArray()) {
    for (const llvm::json::Value& element : *array) result.push_back(element.getAsString().value_or("").str());
  }
  return result;
}

std::string digestsToText(const std::map<std::string, std::string>& digests) {
  llvm::json::Array pairs;
  for (const auto& [path, digest] : digests) {
    pairs.push_back(llvm::json::Array{plan::jsonText(path), digest});
  }
  return plan::canonicalJson(llvm::json::Value(std::move(pairs)));
}

std::map<std::string, std::string> digestsFromText(const std::string& text) {
  std::map<std::string, std::string> result;
  llvm::json::Value value = parse(text);
  const llvm::json::Array* pairs = value.getAsArray();
  if (!pairs) return result;
  for (const llvm::json::Value& element : *pairs) {
    const llvm::json::Array* pair = element.getAsArray();
    if (!pair || pair->size() != 2) continue;
    result[(*pair)[0].getAsString().value_or("").str()] = (*pair)[1].getAsString().value_or("").str();
  }
  return result;
}

Session readSession(const Statement& row) {
  Session session;
  session.id = row.integer(0);
  session.host = row.text(1);
  session.boot_id = row.text(2);
  session.environment_class = row.text(3);
  session.worker_build = row.text(4);
  session.environment_json = row.text(5);
  session.opened = row.real(6);
  session.last_seen = row.real(7);
  return session;
}

Run readRun(const Statement& row) {
  Run run;
  run.id = row.integer(0);
  run.study = row.text(1);
  run.plan_digest = row.text(2);
  run.plan_json = row.text(3);
  run.session = row.integer(4);
  run.match.environment_class = row.text(5);
  run.match.worker_build = row.text(6);
  run.match.data_digests = digestsFromText(row.text(7));
  run.started = row.real(8);
  run.ended = row.real(9);
  run.outcome = row.text(10);
  return run;
}

BlockPlan readBlock(const Statement& row) {
  BlockPlan plan;
  plan.block.id = row.integer(0);
  plan.block.study = row.text(1);
  plan.block.kind = kindFromText(row.text(2));
  plan.block.number = uint64_t(row.integer(3));
  plan.block.seed = uint64_t(row.integer(4));
  plan.block.session = row.integer(5);
  plan.settings = row.text(6);
  plan.points = textsFromJson(row.text(7));
  return plan;
}

Trial readTrial(const Statement& row) {
  Trial trial;
  trial.id = row.integer(0);
  trial.point = row.text(1);
  trial.kind = kindFromText(row.text(2));
  trial.settings = row.text(3);
  trial.block = row.integer(4);
  trial.session = row.integer(5);
  trial.position = unsigned(row.integer(6));
  trial.attempt = unsigned(row.integer(7));
  trial.status = statusFromText(row.text(8));
  trial.reason = row.text(9);
  trial.log_tail = row.text(10);
  trial.started = row.real(11);
  trial.ended = row.real(12);
  trial.environment_class = row.text(13);
  trial.worker_build = row.text(14);
  trial.data_digest = row.text(15);
  trial.devices = row.text(16);
  trial.environment_json = row.text(17);
  trial.notes = textsFromJson(row.text(18));
  trial.label = row.text(19);
  return trial;
}

llvm::Error readValues(sqlite3* db, const std::string& path, Trial& trial) {
  Statement values(db, path, "SELECT name, value FROM metric_value WHERE trial = ?1");
  values.bind({trial.id});
  while (values.step()) {
    if (values.isNull(1)) {
      trial.not_on_device.push_back(values.text(0));
    } else {
      trial.metrics[values.text(0)] = values.real(1);
    }
  }
  if (auto error = values.take()) return error;
  Statement series(db, path, "SELECT name, numbers FROM series WHERE trial = ?1");
  series.bind({trial.id});
  while (series.step()) trial.series[series.text(0)] = series.reals(1);
  return series.take();
}

}  // namespace expc::store
