#include "runtime/plan/rehearsal.h"

#include "runtime/plan/described.h"

namespace expc::plan {
namespace {

constexpr auto kTraffic = [](JsonRecord& io, Traffic& traffic) {
  io.field("calls", traffic.calls);
  io.field("bytes", traffic.bytes);
};

void describeRank(JsonRecord& io, RehearsedRank& rank) {
  io.field("host_memory", rank.host_memory);
  io.field("device_memory_allocated", rank.device_memory_allocated);
  io.field("device_memory_reserved", rank.device_memory_reserved);
  io.field("launches", rank.launches);
  io.field("synchronisations", rank.synchronisations);
  io.object("to_device", rank.to_device, kTraffic);
  io.object("from_device", rank.from_device, kTraffic);
  io.object("within_devices", rank.within_devices, kTraffic);
  io.byName("collectives", rank.collectives,
            [](JsonRecord& all, JsonRecord::Key name, Traffic& traffic) { all.object(name, traffic, kTraffic); });
  io.field("host_seconds", rank.host_seconds);
  io.field("operations", rank.operations);
  io.field("memory_bytes", rank.memory_bytes);
}

}  // namespace

void describe(JsonRecord& io, Rehearsed& rehearsed) {
  io.field("steps", rehearsed.steps, 1);
  io.list("ranks", rehearsed.ranks, describeRank);
  if (io.reads() && rehearsed.ranks.empty()) io.fail("ranks", "expected at least one rank");
}

}  // namespace expc::plan
