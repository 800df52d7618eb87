#include "runtime/store/entry.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/CRC.h>

#include <array>

#include "runtime/plan/json.h"
#include "runtime/plan/name.h"
#include "runtime/plan/plan_words.h"

namespace expc::store {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using plan::JsonErrors;
using plan::JsonFields;
using plan::JsonPath;
using plan::jsonText;

constexpr int64_t kMostId = int64_t(1) << 53;  // that any JSON reader keeps

/// Text that is JSON already, as the value that it is: a reader of journals sees no quotes within quotes.
Value embed(const std::string& text) {
  auto value = plan::parseJson(text);
  if (value) return std::move(*value);
  llvm::consumeError(value.takeError());
  return jsonText(text);
}
std::string embedded(const Value* value) { return value ? plan::canonicalJson(*value) : ""; }

Value texts(const std::map<std::string, std::string>& map) {
  Object object;
  for (const auto& [key, value] : map) object[jsonText(key).getAsString()->str()] = jsonText(value);
  return object;
}

Value write(const Moment& moment) { return Array{moment.wall, moment.boot}; }

Moment readMoment(JsonFields& in, llvm::StringRef key) {
  Moment moment;
  const Value* value = in.value(key);
  const Array* array = value ? value->getAsArray() : nullptr;
  if (!array || array->size() != 2 || !(*array)[0].getAsNumber() || !(*array)[1].getAsNumber()) {
    in.fail(key, "missing, expected two times");
    return moment;
  }
  return {*(*array)[0].getAsNumber(), *(*array)[1].getAsNumber()};
}

int64_t readId(JsonFields& in, llvm::StringRef key) { return int64_t(in.whole(key, 0, kMostId)); }

std::map<std::string, std::string> readTexts(JsonFields& in, llvm::StringRef key) {
  std::map<std::string, std::string> map;
  for (const auto& [name, value] : in.object(key)) {
    if (const auto text = value.getAsString())
      map[name.str()] = text->str();
    else
      in.fail(key, "expected strings");
  }
  return map;
}

/// Values of a trial. What is not finite (of a store that was made by hand) is text.
void writeValues(const Trial& trial, Object& out) {
  Object metrics, series;
  for (const auto& [name, value] : trial.metrics) metrics[jsonText(name).getAsString()->str()] = value;
  for (const auto& [name, numbers] : trial.series) series[jsonText(name).getAsString()->str()] = Array(numbers);
  if (!metrics.empty()) out["metrics"] = std::move(metrics);
  if (!series.empty()) out["series"] = std::move(series);
  if (!trial.not_on_device.empty()) out["absent"] = plan::jsonTexts(trial.not_on_device);
}

void readValues(JsonFields& in, Trial& trial) {
  if (in.has("metrics")) {
    for (const auto& [name, value] : in.object("metrics")) {
      if (const auto number = value.getAsNumber())
        trial.metrics[name.str()] = *number;
      else
        in.fail("metrics", "expected numbers");
    }
  }
  if (in.has("series")) {
    for (const auto& [name, value] : in.object("series")) {
      const Array* numbers = value.getAsArray();
      if (!numbers) in.fail("series", "expected arrays of numbers");
      std::vector<double>& read = trial.series[name.str()];
      for (const Value& number : numbers ? *numbers : Array{}) read.push_back(number.getAsNumber().value_or(0));
    }
  }
  if (in.has("absent")) trial.not_on_device = in.strings("absent");
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
    return Object{{"entry", "session"},
                  {"id", entry.id},
                  {"host", jsonText(entry.host)},
                  {"boot", jsonText(entry.boot_id)},
                  {"workers", toJson(entry.workers)},
                  {"environment", embed(entry.environment_json)},
                  {"opened", write(entry.opened)},
                  {"seen", write(entry.last_seen)}};
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
    return Object{
        {"entry", "run end"}, {"run", entry.run}, {"at", write(entry.at)}, {"outcome", jsonText(entry.outcome)}};
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
                  {"readings", texts(key.readings)},
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

Entry readOpened(JsonFields& in) {
  Opened entry;
  const uint64_t version = in.whole("version");
  if (version != kJournalVersion)
    in.fail("version", fmt::format("{}, and this expc knows {}: use the expc that wrote it", version, kJournalVersion));
  entry.epoch = in.whole("epoch");
  entry.store = in.string("store");
  // A file beside the folder may be called after it.
  if (const auto why = plan::whyNoName(entry.store)) in.fail("store", *why);
  for (const auto& [journal, bytes] : in.object("sealed")) {
    if (const auto number = bytes.getAsUINT64())
      entry.sealed[journal.str()] = *number;
    else
      in.fail("sealed", "expected sizes");
  }
  if (in.has("replaced"))
    for (std::string& journal : in.strings("replaced")) entry.replaced.insert(std::move(journal));
  return entry;
}

Entry readSession(JsonFields& in) {
  Session session;
  session.id = readId(in, "id");
  session.host = in.string("host");
  session.boot_id = in.string("boot");
  if (const Value* workers = in.value("workers")) {
    auto read = workersFromJson(*workers);
    if (read)
      session.workers = std::move(*read);
    else
      in.fail("workers", llvm::toString(read.takeError()));
  }
  session.environment_json = embedded(in.value("environment"));
  session.opened = readMoment(in, "opened");
  session.last_seen = readMoment(in, "seen");
  return session;
}

Entry readSeen(JsonFields& in) { return Seen{readId(in, "session"), readMoment(in, "at")}; }

Entry readPlan(JsonFields& in) { return PlanText{in.string("hash"), embedded(in.value("text"))}; }

Entry readRun(JsonFields& in) {
  RunBegan entry;
  entry.run.id = readId(in, "id");
  entry.run.study = in.string("study");
  entry.run.plan_digest = in.string("digest");
  entry.plan = in.string("plan");
  entry.run.session = readId(in, "session");
  if (const Value* match = in.value("match")) {
    auto read = matchFromJson(*match);
    if (read)
      entry.run.match = std::move(*read);
    else
      in.fail("match", llvm::toString(read.takeError()));
  }
  entry.run.started = readMoment(in, "at");
  return entry;
}

Entry readRunEnd(JsonFields& in) { return RunEnded{readId(in, "run"), readMoment(in, "at"), in.string("outcome")}; }

Entry readBlock(JsonFields& in) {
  BlockPlan plan;
  plan.block.id = readId(in, "id");
  plan.block.study = in.string("study");
  plan.block.kind = in.word<plan::TrialKind>("kind", plan::words::kKind);
  plan.block.number = in.whole("number");
  plan.block.seed = in.whole("seed");
  plan.block.session = readId(in, "session");
  plan.settings = embedded(in.value("settings"));
  if (const Value* places = in.value("places")) {
    auto read = placesFromJson(*places);
    if (read)
      plan.places = std::move(*read);
    else
      in.fail("places", llvm::toString(read.takeError()));
  }
  return plan;
}

Entry readKey(JsonFields& in) {
  KeyAdded entry;
  entry.id = readId(in, "id");
  entry.key.place = {in.string("point"), in.string("control")};
  entry.key.kind = in.word<plan::TrialKind>("kind", plan::words::kKind);
  entry.key.settings = embedded(in.value("settings"));
  entry.key.data = in.string("data");
  entry.key.readings = readTexts(in, "readings");
  entry.key.worker_build = in.string("worker");
  entry.key.environment_class = in.string("class");
  return entry;
}

Entry readBegin(JsonFields& in) {
  TrialBegan entry;
  Trial& trial = entry.trial;
  trial.id = readId(in, "trial");
  entry.key = readId(in, "key");
  trial.run = readId(in, "run");
  trial.session = readId(in, "session");
  trial.block = readId(in, "block");
  trial.position = in.small("position");
  trial.attempt = in.small("attempt");
  trial.limit = in.number("limit");
  trial.started = in.number("started");
  trial.devices = embedded(in.value("devices"));
  return entry;
}

Entry readEnd(JsonFields& in) {
  TrialEnded entry;
  Trial& trial = entry.trial;
  trial.id = readId(in, "trial");
  trial.session = readId(in, "session");
  const std::string status = in.string("status");
  trial.status = trialStatusFromString(status).value_or(TrialStatus::Failed);
  if (toString(trial.status) != status) in.fail("status", "'" + status + "' is no way a trial ends");
  trial.seconds = in.number("seconds");
  entry.at = readMoment(in, "at");
  trial.environment_json = embedded(in.value("environment"));
  if (in.has("reason")) trial.reason = in.string("reason");
  if (in.has("log")) trial.log_tail = in.string("log");
  if (in.has("notes")) trial.notes = in.strings("notes");
  readValues(in, trial);
  return entry;
}

Entry readReread(JsonFields& in) {
  Reread entry;
  entry.trial.id = readId(in, "trial");
  entry.key = readId(in, "key");
  readValues(in, entry.trial);
  return entry;
}

Entry readAdopted(JsonFields& in) {
  return Adopted{in.string("store"), in.string("what"), readId(in, "theirs"), readId(in, "ours")};
}

constexpr std::array<std::pair<std::string_view, Entry (*)(JsonFields&)>, 12> kReaders = {{{"opened", readOpened},
                                                                                           {"session", readSession},
                                                                                           {"seen", readSeen},
                                                                                           {"plan", readPlan},
                                                                                           {"run", readRun},
                                                                                           {"run end", readRunEnd},
                                                                                           {"block", readBlock},
                                                                                           {"key", readKey},
                                                                                           {"begin", readBegin},
                                                                                           {"end", readEnd},
                                                                                           {"reread", readReread},
                                                                                           {"adopted", readAdopted}}};

constexpr std::string_view kSum = ",\"sum\":\"";
constexpr size_t kSumSize = kSum.size() + 8 + 2;  // eight digits, a quote, the closing brace

std::string sumOf(std::string_view text) {
  return fmt::format("{:08x}", llvm::crc32(llvm::arrayRefFromStringRef(text)));
}

}  // namespace

std::string toLine(const Entry& entry) {
  std::string text = plan::canonicalJson(std::visit(Writer(), entry));
  text.pop_back();
  return fmt::format("{}{}{}\"}}", text, kSum, sumOf(text));
}

llvm::Expected<Entry> entryFromLine(std::string_view line) {
  const size_t at = line.size() < kSumSize ? std::string_view::npos : line.size() - kSumSize;
  if (at == std::string_view::npos || line.substr(at, kSum.size()) != kSum)
    return llvm::createStringError("has no checksum at its end");
  if (line.substr(at + kSum.size(), 8) != sumOf(line.substr(0, at)))
    return llvm::createStringError("its checksum does not fit: it was damaged or edited");
  auto value = plan::parseJson(line);
  if (!value) return value.takeError();
  JsonErrors errors;
  const JsonPath root;
  JsonFields in(errors, *value, root);
  const std::string name = in.string("entry");
  in.value("sum");
  Entry entry;
  const auto* reader =
      std::find_if(kReaders.begin(), kReaders.end(), [&](const auto& known) { return known.first == name; });
  if (reader == kReaders.end())
    in.fail("entry", "'" + name + "' is nothing that this expc knows");
  else
    entry = reader->second(in);
  if (auto error = errors.take("a line of the journal")) return error;
  return entry;
}

llvm::json::Value toJson(const std::vector<Worker>& workers) {
  Array array;
  for (const Worker& worker : workers)
    array.push_back(Object{{"build", jsonText(worker.build)}, {"class", jsonText(worker.environment_class)}});
  return array;
}

namespace {

Worker readWorker(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  return {in.string("build"), in.string("class")};
}

}  // namespace

llvm::Expected<std::vector<Worker>> workersFromJson(const llvm::json::Value& value) {
  JsonErrors errors;
  const JsonPath root;
  std::vector<Worker> workers;
  const Array* array = value.getAsArray();
  if (!array) errors.add(root, "expected an array");
  for (const Value& worker : array ? *array : Array{}) workers.push_back(readWorker(errors, worker, root));
  if (auto error = errors.take("the workers")) return error;
  return workers;
}

llvm::json::Value toJson(const Match& match) {
  Object object{{"digests", texts(match.data_digests)}};
  if (match.built_in) object["built_in"] = std::move((*toJson(std::vector<Worker>{*match.built_in}).getAsArray())[0]);
  if (match.command) object["command"] = std::move((*toJson(std::vector<Worker>{*match.command}).getAsArray())[0]);
  return object;
}

llvm::Expected<Match> matchFromJson(const llvm::json::Value& value) {
  JsonErrors errors;
  const JsonPath root;
  JsonFields in(errors, value, root);
  Match match;
  match.data_digests = readTexts(in, "digests");
  if (in.has("built_in")) match.built_in = readWorker(errors, *in.value("built_in"), root);
  if (in.has("command")) match.command = readWorker(errors, *in.value("command"), root);
  if (auto error = errors.take("what has to agree")) return error;
  return match;
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

llvm::Expected<std::vector<plan::Place>> placesFromJson(const llvm::json::Value& value) {
  const Array* array = value.getAsArray();
  if (!array) return llvm::createStringError("expected an array of places");
  std::vector<plan::Place> places;
  for (const Value& place : *array) {
    const Array* pair = place.getAsArray();
    if (const auto point = place.getAsString())
      places.emplace_back(point->str());
    else if (pair && pair->size() == 2 && (*pair)[0].getAsString() && (*pair)[1].getAsString())
      places.emplace_back((*pair)[0].getAsString()->str(), (*pair)[1].getAsString()->str());
    else
      return llvm::createStringError("expected a point, or a point and its control");
  }
  return places;
}

}  // namespace expc::store
