// Entries of journals, as they are written.

#include "runtime/store/entry_json.h"

namespace expc::store {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using plan::jsonText;

/// Text that is JSON already, as the value that it is: a reader of journals sees no quotes within quotes.
Value embed(const std::string& text) {
  auto value = plan::parseJson(text);
  if (value) return std::move(*value);
  llvm::consumeError(value.takeError());
  return jsonText(text);
}
Value write(const Moment& moment) { return Array{moment.wall, moment.boot}; }

/// Values of a trial. What is not finite (of a store that was made by hand) is text.
void writeValues(const Trial& trial, Object& out) {
  Object metrics, series;
  for (const auto& [name, value] : trial.metrics) metrics[jsonText(name).getAsString()->str()] = value;
  for (const auto& [name, numbers] : trial.series) series[jsonText(name).getAsString()->str()] = Array(numbers);
  if (!metrics.empty()) out["metrics"] = std::move(metrics);
  if (!series.empty()) out["series"] = std::move(series);
  if (!trial.not_on_device.empty()) out["absent"] = plan::jsonTexts(trial.not_on_device);
}

struct Writer {
  Object operator()(const Opened& entry) const {
    Object sealed;
    for (const auto& [journal, bytes] : entry.sealed) sealed[journal] = bytes;
    Object object{{"entry", "opened"},
                  {"version", kJournalVersion},
                  {"epoch", entry.epoch},
                  {"store", jsonText(entry.store)},
                  {"sealed", std::move(sealed)}};
    if (!entry.replaced.empty()) object["replaced"] = plan::jsonTexts({entry.replaced.begin(), entry.replaced.end()});
    return object;
  }
  Object operator()(const Session& entry) const {
    Object object{{"entry", "session"},
                  {"id", entry.id},
                  {"nodes", plan::jsonTexts(entry.where.nodes)},
                  {"boots", plan::jsonTexts(entry.where.boots)},
                  {"workers", toJson(entry.workers)},
                  {"environment", embed(entry.environment_json)},
                  {"opened", write(entry.opened)},
                  {"seen", write(entry.last_seen)}};
    if (!entry.where.lane.empty()) object["lane"] = jsonText(entry.where.lane);
    return object;
  }
  Object operator()(const Seen& entry) const {
    return Object{{"entry", "seen"}, {"session", entry.session}, {"at", write(entry.at)}};
  }
  Object operator()(const PlanText& entry) const {
    return Object{{"entry", "plan"}, {"hash", entry.hash}, {"text", embed(entry.text)}};
  }
  Object operator()(const RunBegan& entry) const {
    return Object{{"entry", "run"},
                  {"id", entry.run.id},
                  {"study", jsonText(entry.run.study)},
                  {"digest", jsonText(entry.run.plan_digest)},
                  {"plan", entry.plan},
                  {"session", entry.run.session},
                  {"match", toJson(entry.run.match)},
                  {"at", write(entry.run.started)}};
  }
  Object operator()(const RunEnded& entry) const {
    Object object{
        {"entry", "run end"}, {"run", entry.run}, {"at", write(entry.at)}, {"outcome", jsonText(entry.outcome)}};
    if (!entry.judged.empty()) object["judged"] = embed(entry.judged);
    return object;
  }
  Object operator()(const BlockPlan& entry) const {
    const Block& block = entry.block;
    return Object{{"entry", "block"},
                  {"id", block.id},
                  {"study", jsonText(block.study)},
                  {"kind", std::string(toString(block.kind))},
                  {"number", block.number},
                  {"seed", block.seed},
                  {"session", block.session},
                  {"settings", embed(entry.settings)},
                  {"places", toJson(entry.places)}};
  }
  Object operator()(const KeyAdded& entry) const {
    const TrialKey& key = entry.key;
    return Object{{"entry", "key"},
                  {"id", entry.id},
                  {"point", jsonText(key.place.point)},
                  {"control", jsonText(key.place.control)},
                  {"kind", std::string(toString(key.kind))},
                  {"settings", embed(key.settings)},
                  {"data", jsonText(key.data)},
                  {"readings", toJson(key.readings)},
                  {"worker", jsonText(key.worker_build)},
                  {"class", jsonText(key.environment_class)}};
  }
  Object operator()(const TrialBegan& entry) const {
    const Trial& trial = entry.trial;
    return Object{{"entry", "begin"},
                  {"trial", trial.id},
                  {"key", entry.key},
                  {"run", trial.run},
                  {"session", trial.session},
                  {"block", trial.block},
                  {"position", trial.position},
                  {"attempt", trial.attempt},
                  {"limit", trial.limit},
                  {"started", trial.started},
                  {"devices", embed(trial.devices)}};
  }
  Object operator()(const TrialEnded& entry) const {
    const Trial& trial = entry.trial;
    Object object{{"entry", "end"},
                  {"trial", trial.id},
                  {"session", trial.session},
                  {"status", std::string(toString(trial.status))},
                  {"seconds", trial.seconds},
                  {"at", write(entry.at)},
                  {"environment", embed(trial.environment_json)}};
    if (!trial.reason.empty()) object["reason"] = jsonText(trial.reason);
    if (!trial.log_tail.empty()) object["log"] = jsonText(trial.log_tail);
    if (!trial.notes.empty()) object["notes"] = plan::jsonTexts(trial.notes);
    writeValues(trial, object);
    return object;
  }
  Object operator()(const Reread& entry) const {
    Object object{{"entry", "reread"}, {"trial", entry.trial.id}, {"key", entry.key}};
    writeValues(entry.trial, object);
    return object;
  }
  Object operator()(const Adopted& entry) const {
    return Object{{"entry", "adopted"},
                  {"store", jsonText(entry.store)},
                  {"what", jsonText(entry.what)},
                  {"theirs", entry.theirs},
                  {"ours", entry.ours}};
  }
};

}  // namespace

llvm::json::Object writeEntry(const Entry& entry) { return std::visit(Writer(), entry); }

llvm::json::Value toJson(const std::map<std::string, std::string>& texts) {
  Object object;
  for (const auto& [key, value] : texts) object[jsonText(key).getAsString()->str()] = jsonText(value);
  return object;
}

llvm::json::Value toJson(const std::vector<Worker>& workers) {
  Array array;
  for (const Worker& worker : workers)
    array.push_back(Object{{"build", jsonText(worker.build)}, {"class", jsonText(worker.environment_class)}});
  return array;
}

llvm::json::Value toJson(const Match& match) {
  Object object{{"digests", toJson(match.data_digests)}};
  if (match.built_in) object["built_in"] = std::move((*toJson(std::vector<Worker>{*match.built_in}).getAsArray())[0]);
  if (match.command) object["command"] = std::move((*toJson(std::vector<Worker>{*match.command}).getAsArray())[0]);
  return object;
}

llvm::json::Value toJson(const std::vector<plan::Place>& places) {
  Array array;
  for (const plan::Place& place : places) {
    if (place.control.empty())
      array.push_back(jsonText(place.point));
    else
      array.push_back(Array{jsonText(place.point), jsonText(place.control)});
  }
  return array;
}

}  // namespace expc::store
