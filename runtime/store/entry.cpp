// Describes the fields of each entry once, for reading and writing (JsonRecord), and the line around them:
// canonical JSON, closed by a checksum. A line may come from a stranger, so reading checks every member and never
// crashes. New fields are optional, since older journals lack them.

#include "runtime/store/entry.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/CRC.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::store {
namespace {

using base::JsonErrors;
using base::JsonPath;
using json::Array;
using json::Object;
using json::Value;

/// The words in a line's member "entry"; journals of all versions have them, so a word never changes.
/// In the order of Entry's alternatives.
constexpr std::array<llvm::StringLiteral, 12> kNames = {"opened", "session", "seen",  "plan", "run",    "run end",
                                                        "block",  "key",     "begin", "end",  "reread", "adopted"};
static_assert(kNames.size() == std::variant_size_v<Entry>);

/// Writes text that is JSON already as the value itself, not as a quoted string: a person who reads a journal sees
/// no quotes within quotes. Reading gives the canonical text.
void embedded(JsonRecord& io, JsonRecord::Key key, std::string& text) {
  if (io.reads()) {
    const Value* value = io.in(key);
    text = value ? canonicalJson(*value) : "";
  } else {
    auto value = expectedToOptional(parseJson(text));
    io.out()[key] = value ? std::move(*value) : jsonText(text);
  }
}

/// A moment is an array: [wall, boot].
void describeMoment(JsonRecord& io, JsonRecord::Key key, Moment& moment) {
  if (!io.reads()) {
    io.out()[key] = Array{moment.wall, moment.boot};
    return;
  }
  const Value* value = io.in(key);
  const Array* array = value ? value->getAsArray() : nullptr;
  if (!array || array->size() != 2 || !(*array)[0].getAsNumber() || !(*array)[1].getAsNumber())
    return io.fail(key, "missing, expected two times");
  moment = {*(*array)[0].getAsNumber(), *(*array)[1].getAsNumber()};
}

void describe(JsonRecord& io, Opened& entry) {
  uint64_t version = kJournalVersion;
  io.required("version", version, EXPC_NAMED(entry, epoch, store));
  io.optional("replaced", entry.replaced);
  io.field("sealed", entry.sealed);
  if (version < 1 || version > kJournalVersion)
    io.fail("version", fmt::format("{}, and this expc knows {}: use the expc that wrote it", version, kJournalVersion));
  // The store's name becomes part of a file's name (the spool), so it must be fit for one.
  if (const auto why = plan::whyNoName(entry.store)) io.fail("store", *why);
}

/// Reads a session's place as older versions wrote it: "n1+n2/local:3", and the boots of the nodes likewise.
SessionPlace sessionPlaceFromText(StringRef host, StringRef boots) {
  const auto [nodes, lane] = host.split('/');
  SessionPlace place;
  place.lane = lane.str();
  for (const auto& [text, parts] : {std::pair(nodes, &place.nodes), std::pair(boots, &place.boots)})
    for (const StringRef part : llvm::split(text, '+')) parts->push_back(part.str());
  return place;
}

void describe(JsonRecord& io, Session& session) {
  io.field("id", session.id);
  // Older sessions have two texts instead.
  if (io.has("nodes", true)) {
    io.field("nodes", session.where.nodes);
    io.optional("lane", session.where.lane);
    io.field("boots", session.where.boots);
  } else {
    std::string host, boots;
    io.required("host", host, "boot", boots);
    session.where = sessionPlaceFromText(host, boots);
  }
  if (io.has("workers", true)) io.list("workers", session.workers, base::kDescribed);
  embedded(io, "environment", session.environment_json);
  describeMoment(io, "opened", session.opened);
  describeMoment(io, "seen", session.last_seen);
}

void describe(JsonRecord& io, Seen& entry) {
  io.field("session", entry.session);
  describeMoment(io, "at", entry.at);
}

/// Plans are embedded, so that tools which read JSON can look into them.
void describe(JsonRecord& io, PlanText& entry) {
  io.field("hash", entry.hash);
  embedded(io, "text", entry.text);
}

void describe(JsonRecord& io, RunBegan& entry) {
  io.required(EXPC_NAMED(entry.run, id, study), "digest", entry.run.plan_digest, "plan", entry.plan, "session",
              entry.run.session);
  if (io.has("match", true)) io.object("match", entry.run.match, base::kDescribed);
  describeMoment(io, "at", entry.run.started);
}

/// Journals before version 3 have a text: a word, or "complete after 8".
void describeOutcome(JsonRecord& io, Outcome& outcome) {
  const Value* value = io.reads() ? io.in("outcome") : nullptr;
  auto text = value ? value->getAsString() : std::nullopt;
  if (!text)
    return io.object("outcome", outcome, [](JsonRecord& inner, Outcome& one) {
      inner.word("kind", one.kind, kOutcomes);
      inner.optional("repetitions", one.repetitions);
    });
  if (text->consume_front("complete after ")) {
    outcome.kind = Outcome::AtLook;
    if (text->getAsInteger(10, outcome.repetitions)) outcome.repetitions = 0;  // a bundle did not say how many
  } else if (const auto kind = base::valueOf(kOutcomes, *text)) {
    outcome.kind = *kind;
  } else {
    io.fail("outcome", fmt::format("'{}' is unknown to this expc", *text));
  }
}

void describe(JsonRecord& io, RunEnded& entry) {
  io.field("run", entry.run);
  describeMoment(io, "at", entry.at);
  describeOutcome(io, entry.outcome);
  if (!io.has("judged", entry.judged != nullptr)) return;
  RunClaims judged = entry.judged ? *entry.judged : RunClaims();
  io.required("judged", judged);
  entry.judged = std::make_shared<const RunClaims>(std::move(judged));
}

/// A place is a point's id, or a pair of point and control. Blocks have many places, so the short form matters.
void describePlaces(JsonRecord& io, std::vector<Place>& places) {
  if (!io.reads()) {
    io.out()["places"] = toJson(places);
    return;
  }
  io.each("places", [&](const Value& place, const JsonPath& at) {
    const Array* pair = place.getAsArray();
    if (const auto point = place.getAsString())
      places.emplace_back(point->str());
    else if (pair && pair->size() == 2 && (*pair)[0].getAsString() && (*pair)[1].getAsString())
      places.emplace_back((*pair)[0].getAsString()->str(), (*pair)[1].getAsString()->str());
    else
      io.failAt(at, "expected a point, or a point and its control");
  });
}

void describe(JsonRecord& io, BlockPlan& plan) {
  io.required(EXPC_NAMED(plan.block, id, study, kind, number, seed, session));
  embedded(io, "settings", plan.settings);
  describePlaces(io, plan.places);
}

void describe(JsonRecord& io, KeyAdded& entry) {
  TrialKey& key = entry.key;
  io.required("id", entry.id, EXPC_NAMED(key.place, point, control), "kind", key.kind);
  embedded(io, "settings", key.settings);
  io.required(EXPC_NAMED(key, data, readings), "worker", key.worker_build, "class", key.environment_class);
}

/// For journals before version 3, which do not say on how many nodes a trial ran: those that its devices name.
unsigned nodesAmong(const Value* devices) {
  std::set<StringRef> names;
  if (const Array* slots = devices ? devices->getAsArray() : nullptr)
    for (const Value& slot : *slots)
      if (const Object* device = slot.getAsObject())
        if (const auto name = device->getString("node")) names.insert(*name);
  return std::max<unsigned>(1, names.size());
}

void describe(JsonRecord& io, TrialBegan& entry) {
  entry.trial.describe(io);
  io.field("key", entry.key);
  embedded(io, "devices", entry.trial.devices);
  if (io.has("nodes", true))
    io.field("nodes", entry.trial.nodes, 1);
  else
    entry.trial.nodes = nodesAmong(io.in("devices"));
}

void describe(JsonRecord& io, TrialEnded& entry) {
  Trial& trial = entry.trial;
  io.required("trial", trial.id, "session", trial.session);
  io.word("status", trial.status, kStatuses);
  describeMoment(io, "at", entry.at);
  embedded(io, "environment", trial.environment_json);
  trial.TrialResult::describe(io);
}

void describe(JsonRecord& io, Reread& entry) {
  io.required("trial", entry.trial.id, "key", entry.key);
  entry.trial.TrialValues::describe(io);
}

void describe(JsonRecord& io, Adopted& entry) {
  io.required(EXPC_NAMED(entry.from, store, what), "theirs", entry.from.number, "ours", entry.ours);
}

/// An empty entry of the type whose name stands at `index` in kNames.
template <size_t... Indices>
Entry emptyEntry(size_t index, std::index_sequence<Indices...>) {
  Entry entry;
  ((index == Indices ? void(entry.emplace<Indices>()) : void()), ...);
  return entry;
}

/// An entry's type stands beside its fields, not around them: a line is one flat object.
Object written(const Entry& entry) {
  constexpr auto described = [](JsonRecord& io, auto& value) { describe(io, value); };
  Object object = std::visit([&](const auto& one) { return JsonRecord::written(one, described); }, entry);
  object["entry"] = kNames[entry.index()];
  return object;
}

/// Reads an entry. Errors are noted in `io`.
Entry readEntry(JsonRecord& io) {
  std::string name;
  io.field("entry", name);
  const size_t index = std::find(kNames.begin(), kNames.end(), name) - kNames.begin();
  Entry entry = emptyEntry(index, std::make_index_sequence<kNames.size()>());
  if (index == kNames.size())
    io.fail("entry", fmt::format("'{}' is unknown to this expc", name));
  else
    std::visit([&](auto& value) { describe(io, value); }, entry);
  return entry;
}

constexpr std::string_view kSum = ",\"sum\":\"";
constexpr size_t kSumSize = kSum.size() + 8 + 2;  // eight digits, a quote, the closing brace

std::string sumOf(std::string_view text) {
  return fmt::format("{:08x}", llvm::crc32(llvm::arrayRefFromStringRef(text)));
}

/// Reads a plan's line without parsing the plan: it is long, each run's journal has one, and mostly nobody looks at
/// it. If the hash fits, the text is taken as it stands. `text` is the line without its checksum.
std::optional<PlanText> planFromLine(StringRef text) {
  if (!text.consume_front("{\"entry\":\"plan\",\"hash\":\"")) return std::nullopt;
  auto [hash, rest] = text.split('"');
  if (!rest.consume_front(",\"text\":") || base::shortHash(rest) != hash) return std::nullopt;
  return PlanText{hash.str(), rest.str()};
}

}  // namespace

std::string toLine(const Entry& entry) {
  // The checksum is spliced in as the last member, so that the line stays one JSON object.
  std::string text = canonicalJson(written(entry));
  text.pop_back();
  return fmt::format("{}{}{}\"}}", text, kSum, sumOf(text));
}

std::string_view damageOf(std::string_view line) {
  // The subtraction wraps for a short line; the length is checked before `at` is used.
  const size_t at = line.size() - kSumSize;
  if (line.size() < kSumSize || line.substr(at, kSum.size()) != kSum) return "has no checksum at the end";
  const bool fits = line.substr(at + kSum.size(), 8) == sumOf(line.substr(0, at));
  return fits ? "" : "its checksum does not match: the line was damaged or edited";
}

Expected<Entry> entryFromLine(std::string_view line) {
  if (const std::string_view damage = damageOf(line); !damage.empty()) return failure("{}", damage);
  if (auto plan = planFromLine(StringRef(line.data(), line.size() - kSumSize))) return std::move(*plan);
  // From here on the text may be anything with a right checksum, also a stranger's: reading must not trust it.
  auto value = TRY(parseJson(line));
  base::JsonErrors errors;
  const base::JsonPath root;
  JsonRecord io(errors, value, root);
  Entry entry = readEntry(io);
  TRY(errors.take("a line of the journal"));
  return entry;
}

void describe(JsonRecord& io, Worker& worker) { io.required("build", worker.build, "class", worker.environment_class); }

void describe(JsonRecord& io, Match& match) {
  // Digests are an object of key and digest; absent workers are those that the plan does not need.
  io.field("digests", match.data_digests);
  io.optional(EXPC_NAMED(match, built_in, command));
}

Array toJson(const std::vector<Place>& places) {
  Array array;
  for (const Place& place : places) {
    if (place.control.empty())
      array.push_back(jsonText(place.point));
    else
      array.push_back(Array{jsonText(place.point), jsonText(place.control)});
  }
  return array;
}

void describe(JsonRecord& io, RunClaims& judged) {
  using Planned = std::pair<TrialKind, RunClaims::Planned>;
  std::vector<Planned> kinds(judged.planned.begin(), judged.planned.end());
  io.list("planned", kinds, [](JsonRecord& inner, Planned& kind) {
    inner.required("kind", kind.first);
    inner.field("repeat", kind.second.repeat, 1);
    inner.field("looks", kind.second.looks);
    inner.optional("adaptive", kind.second.adaptive);  // no entry had it before 26 November 2026
  });
  if (io.reads()) judged.planned = {kinds.begin(), kinds.end()};
  io.field("subjects", judged.subjects);
}

}  // namespace expc::store
