// Store: what is there, and what of it counts for a plan (DESIGN §3).

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/plan/command_json.h"
#include "runtime/store/rows.h"
#include "runtime/store/sqlite.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

void collectPaths(const llvm::json::Value& value, const std::vector<std::string>& paths, std::set<std::string>& found) {
  if (auto text = value.getAsString()) {
    if (std::find(paths.begin(), paths.end(), text->str()) != paths.end()) found.insert(text->str());
  } else if (const llvm::json::Array* array = value.getAsArray()) {
    for (const llvm::json::Value& element : *array) collectPaths(element, paths, found);
  } else if (const llvm::json::Object* object = value.getAsObject()) {
    for (const auto& [key, element] : *object) collectPaths(element, paths, found);
  }
}

bool hasWord(llvm::StringRef words, llvm::StringRef word) {
  llvm::SmallVector<llvm::StringRef, 8> list;
  words.split(list, ' ');
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// The same data; of a command also the same way of reading each metric that is wanted.
bool sameData(llvm::StringRef wanted, llvm::StringRef held) {
  auto [data, readings] = wanted.split(' ');
  if (data != held.split(' ').first) return false;
  while (!readings.empty()) {
    const auto [reading, rest] = readings.split(' ');
    if (!hasWord(held, reading)) return false;
    readings = rest;
  }
  return true;
}

/// Why `trial` does not count, "" if it does. Ended trials of the plan's points only.
std::string objection(const plan::Plan& plan, const Match& match, const std::string& data_digest, const Trial& trial) {
  bool asked = std::any_of(plan.design.kinds.begin(), plan.design.kinds.end(),
                           [&](const plan::KindDesign& design) { return design.kind == trial.kind; });
  if (!asked) return fmt::format("the plan has no {} trials", plan::toString(trial.kind));
  if (trial.settings != settingsText(plan, trial.kind)) {
    return fmt::format("other settings of {} trials: {}", plan::toString(trial.kind), trial.settings);
  }
  if (!hasWord(match.worker_build, trial.worker_build)) return "measured by another worker build";
  if (!hasWord(match.environment_class, trial.environment_class)) {
    return "measured in another environment (devices, driver, libraries or CPU model)";
  }
  if (!sameData(data_digest, trial.data_digest)) {
    return data_digest.find(' ') == std::string::npos
               ? "measured on other data (the files have changed)"
               : "measured with another program, other inputs or data, or another way to read a metric";
  }
  const bool known =
      trial.label.empty() || std::any_of(plan.controls.begin(), plan.controls.end(), [&](const plan::Control& control) {
        return control.name == trial.label && control.point == trial.point;
      });
  if (!known) return fmt::format("of the control {}, which the plan does not have", trial.label);
  if (trial.status != TrialStatus::Valid) return "";
  for (const plan::Metric& metric : plan.metrics) {
    if (metric.kind != trial.kind || metric.derived) continue;
    if (trial.metrics.count(metric.name) || trial.series.count(metric.name)) continue;
    const auto& absent = trial.not_on_device;
    if (std::find(absent.begin(), absent.end(), metric.name) == absent.end()) {
      return fmt::format("the metric {} was not measured", metric.name);
    }
  }
  return "";
}

template <typename Record, typename Read>
llvm::Expected<std::vector<Record>> readAll(Statement& statement, Read read) {
  std::vector<Record> records;
  while (statement.step()) records.push_back(read(statement));
  if (auto error = statement.take()) return error;
  return records;
}

}  // namespace

std::string commandKey(const plan::Workload& workload) { return "command " + workload.name; }

std::set<std::string> dataPathsOf(const plan::Point& point, const std::vector<std::string>& paths) {
  std::set<std::string> found;
  for (const auto& [name, value] : point.parameters) collectPaths(value, paths, found);
  return found;
}

std::string dataDigest(const plan::Plan& plan, const plan::Point& point, plan::TrialKind kind,
                       const std::map<std::string, std::string>& digests) {
  std::set<std::string> found;
  for (const std::string& path : dataPathsOf(point, plan.data_paths))
    if (const auto digest = digests.find(path); digest != digests.end()) found.insert(digest->second);
  const plan::Workload& workload = plan.workloads[point.workload];
  const auto command = workload.command ? digests.find(commandKey(workload)) : digests.end();
  if (command != digests.end()) found.insert(command->second);
  if (found.empty()) return "";
  std::string joined;
  for (const std::string& digest : found) joined += digest + "\n";
  std::string result = plan::shortHash(joined);
  if (!workload.command) return result;
  for (const plan::Expectation& expectation : workload.command->expectations)
    result += fmt::format(" expect={}", plan::shortHash(plan::canonicalJson(plan::toJson(expectation))));
  for (const plan::CommandMetric& metric : workload.command->metrics) {
    const plan::Metric* asked = plan.findMetric(metric.name);
    if (!asked || asked->kind != kind) continue;
    std::string reading =
        fmt::format("{}\n{}\n{}\n{:a}\n{}", int(metric.from), metric.file, metric.where, metric.scale, metric.series);
    if (metric.take) reading += fmt::format("\n{}", int(*metric.take));
    result += fmt::format(" {}={}", metric.name, plan::shortHash(reading));
  }
  return result;
}

std::string settingsText(const plan::Plan& plan, plan::TrialKind kind) {
  for (const plan::KindDesign& design : plan.design.kinds) {
    if (design.kind == kind) return plan::canonicalJson(llvm::json::Value(llvm::json::Object(design.settings)));
  }
  return "{}";
}

llvm::Expected<std::optional<Session>> Store::latestSession() const {
  Statement statement(db_, path_,
                      fmt::format("SELECT {} FROM session ORDER BY id DESC LIMIT 1", kSessionColumns).c_str());
  std::optional<Session> session;
  if (statement.step()) session = readSession(statement);
  if (auto error = statement.take()) return error;
  return session;
}

llvm::Expected<std::optional<Run>> Store::latestRun(std::string_view study, bool null_cards) const {
  Statement statement(db_, path_,
                      fmt::format("SELECT {} FROM run WHERE study = ?1 AND (environment_class LIKE ?2) = ?3 "
                                  "ORDER BY id DESC LIMIT 1",
                                  kRunColumns)
                          .c_str());
  statement.bind({std::string(study), std::string(kNullClass) + "%", int64_t(null_cards)});
  std::optional<Run> run;
  if (statement.step()) run = readRun(statement);
  if (auto error = statement.take()) return error;
  return run;
}

llvm::Expected<std::vector<BlockPlan>> Store::blocksOfSession(int64_t session, std::string_view study) const {
  Statement statement(
      db_, path_,
      fmt::format("SELECT {} FROM block WHERE session = ?1 AND study = ?2 ORDER BY id", kBlockColumns).c_str());
  statement.bind({session, std::string(study)});
  return readAll<BlockPlan>(statement, readBlock);
}

llvm::Expected<uint64_t> Store::nextBlockNumber(std::string_view study, plan::TrialKind kind) const {
  Statement statement(db_, path_, "SELECT coalesce(max(number) + 1, 0) FROM block WHERE study = ?1 AND kind = ?2");
  statement.bind({std::string(study), std::string(plan::toString(kind))});
  uint64_t number = statement.step() ? uint64_t(statement.integer(0)) : 0;
  if (auto error = statement.take()) return error;
  return number;
}

llvm::Expected<std::vector<Trial>> Store::trialsOfBlock(int64_t block) const {
  Statement statement(db_, path_,
                      fmt::format("SELECT {} FROM trial WHERE block = ?1 ORDER BY id", kTrialColumns).c_str());
  statement.bind({block});
  return readAll<Trial>(statement, readTrial);
}

llvm::Expected<Results> Store::loadLatest(const plan::Plan& plan, bool null_cards) const {
  auto run = latestRun(plan.study, null_cards);
  if (!run) return run.takeError();
  return *run ? load(plan, (*run)->match) : Results{};
}

llvm::Expected<Results> Store::load(const plan::Plan& plan, const std::optional<Match>& given) const {
  if (!given) {
    auto real = latestRun(plan.study, false);
    if (!real) return real.takeError();
    return *real ? load(plan, (*real)->match) : loadLatest(plan, true);
  }
  const Match& match = *given;
  Results results;
  std::map<std::string, uint64_t> objections;
  std::set<int64_t> blocks, sessions;
  Statement trials(
      db_, path_,
      fmt::format("SELECT {} FROM trial WHERE point = ?1 AND status NOT IN ('running', 'interrupted') ORDER BY id",
                  kTrialColumns)
          .c_str());
  for (const plan::Point& point : plan.points) {
    std::map<plan::TrialKind, std::string> digest;
    for (const plan::KindDesign& design : plan.design.kinds)
      digest[design.kind] = dataDigest(plan, point, design.kind, match.data_digests);
    trials.bind({point.id});
    while (trials.step()) {
      Trial trial = readTrial(trials);
      if (auto error = readValues(db_, path_, trial)) return error;
      std::string why = objection(plan, match, digest[trial.kind], trial);
      if (!why.empty()) {
        ++results.kept_not_counted;
        ++objections[why];
        continue;
      }
      blocks.insert(trial.block);
      sessions.insert(trial.session);
      results.trials.push_back(std::move(trial));
    }
  }
  if (auto error = trials.take()) return error;
  std::sort(results.trials.begin(), results.trials.end(), [](const Trial& a, const Trial& b) { return a.id < b.id; });
  for (const auto& [why, count] : objections) {
    results.not_counted_reasons.push_back(fmt::format("{} trial{}: {}", count, count == 1 ? "" : "s", why));
  }

  Statement block(db_, path_, fmt::format("SELECT {} FROM block WHERE id = ?1", kBlockColumns).c_str());
  for (int64_t id : blocks) {
    if (block.bind({id}).step()) results.blocks.push_back(readBlock(block).block);
  }
  if (auto error = block.take()) return error;
  Statement session(db_, path_, fmt::format("SELECT {} FROM session WHERE id = ?1", kSessionColumns).c_str());
  for (int64_t id : sessions) {
    if (session.bind({id}).step()) results.sessions.push_back(readSession(session));
  }
  if (auto error = session.take()) return error;
  return results;
}

}  // namespace expc::store
