// Describes the messages between engine and workers for writing and reading. What a worker writes is checked like a
// stranger's text: a command's program may write anything, and a wrong line must fail its trial, not the engine.

#include "runtime/protocol/trial.h"

#include <llvm/ADT/StringExtras.h>

#include <cmath>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/plan/command.h"

namespace expc::protocol {
namespace {

using base::JsonErrors, base::JsonPath, base::JsonRecord, base::canonicalJson, base::jsonNumber, base::kDescribed,
    base::measuredNumber, base::parseJson;
using json::Array;
using json::Object;
using json::Value;

using Reply = LaunchReply::Type;
constexpr base::Word<Reply> kReplies[] = {
    {"ready", Reply::Ready}, {"started", Reply::Started}, {"exited", Reply::Exited}};
/// More ranks than any machine starts; it bounds what a message can make the other side allocate.
constexpr unsigned kMaxRanks = 65536;

void describeSlots(JsonRecord& io, TrialSpec& spec) {
  if (!io.reads()) {
    io.out()["slots"] = Array(spec.slots);
    return;
  }
  io.each("slots", [&](const Value& slot, const JsonPath& at) {
    if (!slot.getAsObject()) io.failAt(at, "expected an object");
    spec.slots.push_back(slot);
  });
  const bool one_process = spec.world_size == 1 && !spec.slots.empty();  // it may drive several devices
  if (spec.slots.size() != spec.world_size && !one_process)
    io.fail("slots", fmt::format("{} slots for {} ranks", spec.slots.size(), spec.world_size));
}

using Type = Event::Type;
constexpr base::Word<Type> kTypes[] = {{"started", Type::Started},
                                       {"progress", Type::Progress},
                                       {"result", Type::Result},
                                       {"infeasible", Type::Infeasible},
                                       {"failed", Type::Failed}};
/// A line longer than this is nonsense; a long run's series of losses takes a few megabytes.
constexpr size_t kMaxLine = 64u << 20;

/// Writes values that are not finite as words (jsonNumber): JSON has no NaN, and null means "not on this device".
/// They come from a training that diverged, or a division by zero.
Value finiteOf(const Value& value) {
  if (const Object* object = value.getAsObject()) {
    Object safe;
    for (const auto& [name, member] : *object) safe[name] = finiteOf(member);
    return safe;
  }
  if (const Array* array = value.getAsArray()) {
    Array safe;
    for (const Value& element : *array) safe.push_back(finiteOf(element));
    return safe;
  }
  const auto number = value.getAsNumber();
  return number && !std::isfinite(*number) ? jsonNumber(*number) : value;
}

/// Each metric must be a number, a word for one that is not finite, or null.
void checkMetrics(JsonRecord& io, const Object& metrics) {
  for (const auto& [name, value] : metrics)
    if (!value.getAsNull() && !measuredNumber(value)) io.fail("metrics." + name.str(), "is not a number");
}

/// Series have no null: an element that diverged is a word.
void checkSeries(JsonRecord& io, const Object& series) {
  for (const auto& [name, value] : series) {
    const Array* numbers = value.getAsArray();
    if (!numbers) {
      io.fail("series." + name.str(), "expected an array of numbers");
      continue;
    }
    for (size_t i = 0; i < numbers->size(); ++i)
      if (!measuredNumber((*numbers)[i])) io.fail(fmt::format("series.{}[{}]", name.str(), i), "is not a number");
  }
}

/// Each row has metrics, and may have series.
void describeRows(JsonRecord& io, Object& rows) {
  io.field("rows", rows);
  for (const auto& [key, row] : rows) {
    const Object* object = row.getAsObject();
    const Object* metrics = object ? object->getObject("metrics") : nullptr;
    if (!metrics) {
      io.fail("rows." + key.str(), "expected an object with metrics");
      continue;
    }
    checkMetrics(io, *metrics);
    if (const Object* series = object->getObject("series")) checkSeries(io, *series);
  }
}

void describeResult(JsonRecord& io, Event& event) {
  if (!io.reads()) {
    io.out()["metrics"] = finiteOf(Object(event.metrics));
    io.out()["series"] = finiteOf(Object(event.series));
    if (!event.rows.empty()) io.out()["rows"] = finiteOf(Object(event.rows));
  } else {
    io.field("metrics", event.metrics);
    io.optional("series", event.series);
    checkMetrics(io, event.metrics);
    checkSeries(io, event.series);
    if (io.has("rows", false)) describeRows(io, event.rows);
  }
  if (io.has("environment", true)) io.field("environment", event.environment);
  if (io.has("notes", true)) plan::describeNotes(io, "notes", event.notes);
  io.optional("rehearsed", event.rehearsed);
}

void describeEvent(JsonRecord& io, Event& event) {
  describeVersion(io);
  io.word("event", event.type, kTypes);
  // Fields differ by type, so the type comes first.
  if (io.failed()) return;
  switch (event.type) {
    case Event::Type::Started:
      break;
    case Event::Type::Progress:
      io.required(EXPC_NAMED(event, done, total, phase));
      break;
    case Event::Type::Result:
      describeResult(io, event);
      break;
    case Event::Type::Infeasible:
    case Event::Type::Failed:
      io.field("reason", event.reason);
      io.optional("lost", event.lost_others, EXPC_NAMED(event, names_rank, host_memory));
      break;
  }
}

}  // namespace

static void describe(JsonRecord& io, Traffic& traffic) { io.required(EXPC_NAMED(traffic, calls, bytes)); }

static void describe(JsonRecord& io, RehearsedRank& rank) {
  io.required(EXPC_NAMED(rank, host_memory, device_memory_allocated, device_memory_reserved, launches, synchronisations,
                         to_device, from_device, within_devices, collectives, host_seconds, operations, memory_bytes));
  io.optional(EXPC_NAMED(rank, widest_allocated, widest_reserved));
}

void describeVersion(JsonRecord& io) {
  uint64_t version = kTrialVersion;
  // The message names the usual cause: programs of two builds.
  io.field("v", version);
  if (!io.failed() && version != kTrialVersion)
    io.fail("v", fmt::format("this program reads version {}, found {}; are expc and expc-worker of one build?",
                             kTrialVersion, version));
}

void describe(JsonRecord& io, TrialSpec& spec) {
  describeVersion(io);
  io.required(
      EXPC_NAMED(spec, trial, point, workload, workload_version, kind, settings, parameters, root, seed, metrics));
  io.optional("command", spec.command);
  if (spec.command) {
    io.field("folder", spec.folder);
    io.optional(EXPC_NAMED(spec, prepared, outputs, values));
    if (!spec.folder.starts_with('/')) io.fail("folder", "an absolute path is needed");
  }
  io.field("world_size", spec.world_size, 1, kMaxRanks);
  describeSlots(io, spec);
  io.optional(EXPC_NAMED(spec, memory_limit, rehearsal));
  io.optional("log_limit", spec.log_limit, kLogLimit);
}

void describe(JsonRecord& io, LaunchRequest& request) {
  describeVersion(io);
  io.field("launch", request.id);
  io.field("rank", request.rank, 0, kMaxRanks - 1);
  io.field("environment", request.environment);
  // The environment is handed to execve as it is.
  io.required("spec", request.spec);
  for (const std::string& variable : request.environment)
    if (variable.find('=') == std::string::npos || variable.front() == '=')
      io.fail("environment", fmt::format("'{}' is not NAME=value", variable));
  if (request.rank >= request.spec.world_size)
    io.fail("rank", fmt::format("rank {} of {}", request.rank, request.spec.world_size));
}

void describe(JsonRecord& io, LaunchReply& reply) {
  describeVersion(io);
  io.word("reply", reply.type, kReplies);
  if (reply.type == LaunchReply::Type::Ready) return;
  io.required("launch", reply.id, "pid", reply.pid);
  if (reply.type != LaunchReply::Type::Exited) return;
  io.field("status", reply.status);
  io.optional(EXPC_NAMED(reply, at, out_of_memory, stuck));
}

void describe(JsonRecord& io, Rehearsed& rehearsed) {
  io.field("steps", rehearsed.steps, 1);
  io.required("ranks", rehearsed.ranks);
  io.optional("epoch_steps", rehearsed.epoch_steps);
  if (rehearsed.ranks.empty()) io.fail("ranks", "expected at least one rank");
}

std::string toLine(const Event& event) { return canonicalJson(JsonRecord::written(event, describeEvent)); }

Expected<Event> eventFromLine(std::string_view line) {
  // Checked before parsing, which takes several times the memory of the text.
  if (line.size() > kMaxLine) return failure("a line of {} bytes, the limit is {}", line.size(), kMaxLine);
  auto value = TRY(prefixed("not a JSON event", parseJson(line)));
  JsonErrors errors;
  const JsonPath root;
  JsonRecord io(errors, value, root);
  Event event;
  describeEvent(io, event);
  // Other members are left alone: a worker may say more than this reader knows.
  if (errors.any()) return errors.take("the event");
  return event;
}

int TrialSpec::processOf(const plan::Service& service) const {
  const std::string* process = base::entryOf(values, service.name + ".pid");
  int pid = 0;
  return process && llvm::to_integer(*process, pid) ? pid : 0;
}

std::map<std::string, std::string> argumentValues(const TrialSpec& spec) {
  std::map<std::string, std::string> values{
      {"seed", std::to_string(spec.seed)}, {"trial", spec.trial}, {"trial_folder", spec.folder}};
  if (!spec.prepared.empty()) values["prepared"] = spec.prepared;
  for (const auto& [name, value] : spec.values) values[name] = value;
  for (const char* name : {"steps", "warmup", "epochs"})
    if (const json::Value* value = spec.settings.get(name)) values[name] = plan::argumentText(*value);
  // Parameters come last, so that they win where a study uses one of our names.
  for (const auto& [name, value] : spec.parameters) plan::addArgument(values, name, value);
  return values;
}

std::string logLimitText(uint64_t bytes) { return fmt::format("{:.4g} MB (--log-limit)", double(bytes) / 1e6); }

}  // namespace expc::protocol
