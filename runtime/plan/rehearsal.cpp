#include "runtime/plan/rehearsal.h"

#include <utility>

namespace expc::plan {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

Value trafficJson(const Traffic& traffic) { return Object{{"calls", traffic.calls}, {"bytes", traffic.bytes}}; }

Value rankJson(const RehearsedRank& rank) {
  Object collectives, operations;
  for (const auto& [name, traffic] : rank.collectives) collectives[name] = trafficJson(traffic);
  for (const auto& [type, count] : rank.operations) operations[type] = count;
  return Object{{"host_memory", rank.host_memory},
                {"device_memory_allocated", rank.device_memory_allocated},
                {"device_memory_reserved", rank.device_memory_reserved},
                {"launches", rank.launches},
                {"synchronisations", rank.synchronisations},
                {"to_device", trafficJson(rank.to_device)},
                {"from_device", trafficJson(rank.from_device)},
                {"within_devices", trafficJson(rank.within_devices)},
                {"collectives", std::move(collectives)},
                {"host_seconds", rank.host_seconds},
                {"operations", std::move(operations)},
                {"memory_bytes", rank.memory_bytes}};
}

Traffic readTraffic(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  Traffic traffic;
  traffic.calls = in.whole("calls");
  traffic.bytes = in.whole("bytes");
  in.refuseOthers();
  return traffic;
}

RehearsedRank readRank(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  const auto traffic = [&](llvm::StringRef key) {
    const Value* found = in.value(key);
    return found ? readTraffic(errors, *found, JsonPath{&at, key, std::nullopt}) : Traffic{};
  };
  RehearsedRank rank;
  rank.host_memory = in.whole("host_memory");
  rank.device_memory_allocated = in.whole("device_memory_allocated");
  rank.device_memory_reserved = in.whole("device_memory_reserved");
  rank.launches = in.whole("launches");
  rank.synchronisations = in.whole("synchronisations");
  rank.to_device = traffic("to_device");
  rank.from_device = traffic("from_device");
  rank.within_devices = traffic("within_devices");
  rank.host_seconds = in.number("host_seconds");
  rank.memory_bytes = in.number("memory_bytes");
  const JsonPath collectives_at{&at, "collectives", std::nullopt};
  for (const auto& [name, calls] : in.object("collectives"))
    rank.collectives[name.str()] = readTraffic(errors, calls, JsonPath{&collectives_at, name, std::nullopt});
  const Value operations = in.object("operations");
  const JsonPath operations_at{&at, "operations", std::nullopt};
  JsonFields counts(errors, operations, operations_at);
  for (const auto& [type, count] : *operations.getAsObject()) rank.operations[type.str()] = counts.number(type);
  in.refuseOthers();
  return rank;
}

}  // namespace

Value toJson(const Rehearsed& rehearsed) {
  Array ranks;
  for (const RehearsedRank& rank : rehearsed.ranks) ranks.push_back(rankJson(rank));
  return Object{{"steps", rehearsed.steps}, {"ranks", std::move(ranks)}};
}

Rehearsed rehearsedFromJson(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  Rehearsed rehearsed;
  rehearsed.steps = in.small("steps", 1);
  in.each("ranks",
          [&](const Value& rank, const JsonPath& here) { rehearsed.ranks.push_back(readRank(errors, rank, here)); });
  if (rehearsed.ranks.empty()) in.fail("ranks", "expected at least one rank");
  in.refuseOthers();
  return rehearsed;
}

}  // namespace expc::plan
