#include "runtime/store/rows.h"

#include "runtime/plan/json.h"
#include "runtime/store/entry.h"

namespace expc::store {
namespace {

llvm::json::Value parse(const std::string& text) {
  auto value = plan::parseJson(text);
  if (value) return std::move(*value);
  llvm::consumeError(value.takeError());
  return nullptr;
}

/// What `read` makes of a column's JSON; an empty T where that is odd.
template <typename T>
T readJson(const std::string& text, llvm::Expected<T> (*read)(const llvm::json::Value&)) {
  auto value = read(parse(text));
  if (value) return std::move(*value);
  llvm::consumeError(value.takeError());
  return T{};
}

std::map<std::string, std::string> textMap(const std::string& text) {
  std::map<std::string, std::string> map;
  const llvm::json::Value value = parse(text);
  if (const llvm::json::Object* object = value.getAsObject())
    for (const auto& [key, element] : *object) map[key.str()] = element.getAsString().value_or("").str();
  return map;
}

}  // namespace

plan::TrialKind kindFromText(const std::string& text) {
  return plan::trialKindFromString(text).value_or(plan::TrialKind::Timed);
}

std::string textsToJson(const std::vector<std::string>& texts) {
  return plan::canonicalJson(llvm::json::Value(plan::jsonTexts(texts)));
}

std::vector<std::string> textsFromJson(const std::string& text) {
  std::vector<std::string> result;
  const llvm::json::Value value = parse(text);
  if (const llvm::json::Array* array = value.getAsArray())
    for (const llvm::json::Value& element : *array) result.push_back(element.getAsString().value_or("").str());
  return result;
}

Session readSession(const Statement& row) {
  Session session;
  session.id = row.integer(0);
  session.where = {textsFromJson(row.text(1)), row.text(2), textsFromJson(row.text(3))};
  session.workers = readJson(row.text(4), workersFromJson);
  session.environment_json = row.text(5);
  session.opened = {row.real(6), row.real(7)};
  session.last_seen = {row.real(8), row.real(9)};
  return session;
}

Run readRun(const Statement& row) {
  Run run;
  run.id = row.integer(0);
  run.study = row.text(1);
  run.plan_digest = row.text(2);
  run.plan_json = row.text(3);
  run.session = row.integer(4);
  run.match = readJson(row.text(5), matchFromJson);
  run.started = {row.real(6), row.real(7)};
  run.ended = {row.real(8), row.real(9)};
  run.outcome = row.text(10);
  run.judged = row.text(11);
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
  plan.places = readJson(row.text(7), placesFromJson);
  return plan;
}

TrialKey readKey(const Statement& row) {
  TrialKey key;
  key.place = {row.text(1), row.text(2)};
  key.kind = kindFromText(row.text(3));
  key.settings = row.text(4);
  key.data = row.text(5);
  key.readings = textMap(row.text(6));
  key.worker_build = row.text(7);
  key.environment_class = row.text(8);
  return key;
}

Trial readTrial(const Statement& row) {
  Trial trial;
  trial.id = row.integer(0);
  trial.run = row.integer(1);
  trial.block = row.integer(2);
  trial.session = row.integer(3);
  trial.position = unsigned(row.integer(4));
  trial.attempt = unsigned(row.integer(5));
  trial.status = trialStatusFromString(row.text(6)).value_or(TrialStatus::Failed);
  trial.reason = row.text(7);
  trial.log_tail = row.text(8);
  trial.started = row.real(9);
  trial.seconds = row.real(10);
  trial.limit = row.real(11);
  trial.devices = row.text(12);
  trial.environment_json = row.text(13);
  trial.notes = textsFromJson(row.text(14));
  return trial;
}

llvm::Error readValues(sqlite3* db, const std::string& path, int64_t id, Trial& trial) {
  Statement values(db, path, "SELECT name, value FROM metric_value WHERE trial = ?1");
  values.bind({id});
  while (values.step()) {
    if (values.isNull(1))
      trial.not_on_device.push_back(values.text(0));
    else
      trial.metrics[values.text(0)] = values.real(1);
  }
  if (auto error = values.take()) return error;
  Statement series(db, path, "SELECT name, numbers FROM series WHERE trial = ?1");
  series.bind({id});
  while (series.step()) trial.series[series.text(0)] = series.reals(1);
  return series.take();
}

}  // namespace expc::store
