// Entries of journals, as they are read. What a line holds may be a stranger's.

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <array>

#include "runtime/plan/name.h"
#include "runtime/plan/plan_words.h"
#include "runtime/store/entry_json.h"

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

std::string embedded(const Value* value) { return value ? plan::canonicalJson(*value) : ""; }

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

Entry readOpened(JsonFields& in) {
  Opened entry;
  const uint64_t version = in.whole("version");
  if (version < 1 || version > kJournalVersion)
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
  if (in.has("nodes"))
    session.where = {in.strings("nodes"), in.has("lane") ? in.string("lane") : "", in.strings("boots")};
  else
    session.where = sessionPlaceFromText(in.string("host"), in.string("boot"));
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

Entry readRunEnd(JsonFields& in) {
  RunEnded entry{readId(in, "run"), readMoment(in, "at"), in.string("outcome"), ""};
  if (in.has("judged")) entry.judged = embedded(in.value("judged"));
  return entry;
}

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

Worker readWorker(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  return {in.string("build"), in.string("class")};
}

}  // namespace

Entry readEntry(JsonFields& in) {
  const std::string name = in.string("entry");
  const auto* reader =
      std::find_if(kReaders.begin(), kReaders.end(), [&](const auto& known) { return known.first == name; });
  if (reader != kReaders.end()) return reader->second(in);
  in.fail("entry", "'" + name + "' is nothing that this expc knows");
  return {};
}

SessionPlace sessionPlaceFromText(llvm::StringRef host, llvm::StringRef boots) {
  const auto [nodes, lane] = host.split('/');
  SessionPlace place;
  place.lane = lane.str();
  for (const auto& [text, parts] : {std::pair(nodes, &place.nodes), std::pair(boots, &place.boots)})
    for (const llvm::StringRef part : llvm::split(text, '+')) parts->push_back(part.str());
  return place;
}

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
