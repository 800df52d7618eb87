#include "runtime/engine/placement.h"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/channel/port.h"

namespace expc::engine {

std::vector<std::string> rankVariables(const RankPlace& place) {
  std::vector<std::string> variables{fmt::format("RANK={}", place.rank),
                                     fmt::format("WORLD_SIZE={}", place.world_size),
                                     fmt::format("LOCAL_RANK={}", place.local_rank),
                                     fmt::format("LOCAL_WORLD_SIZE={}", place.local_size),
                                     "MASTER_ADDR=" + place.address,
                                     fmt::format("MASTER_PORT={}", place.port)};
  // A host's name may lead to an address of another network, or to the loopback.
  if (!place.interface.empty() && !std::getenv("GLOO_SOCKET_IFNAME"))
    variables.push_back("GLOO_SOCKET_IFNAME=" + place.interface);
  return variables;
}

namespace {

std::vector<std::string> rankEnvironment(const RankPlace& place, const std::string& devices) {
  std::vector<std::string> variables = rankVariables(place);
  variables.push_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  variables.push_back("CUDA_VISIBLE_DEVICES=" + devices);
  return variables;
}

/// A place that there is not was refused before.
machine::Slot placedSlot(const TrialRequest& request, const machine::Machine& machine, const machine::Slot& given) {
  return machine::placed(machine, given, placeOf(request.spec.parameters)).value_or(given);
}

}  // namespace

machine::Place placeOf(const llvm::json::Object& parameters) {
  const auto name = parameters.getString("numa").value_or("near");
  return name == "far" ? machine::Place::Far : name == "any" ? machine::Place::Any : machine::Place::Near;
}

std::string placeNote(const machine::Machine& machine, const llvm::json::Object& parameters) {
  if (placeOf(parameters) != machine::Place::Any || machine.nodes.size() > 1) return "";
  return "numa = any: this machine has one memory node, so all that differs from near is that ranks may move between "
         "cores";
}

void placeRanks(TrialRequest& request, const machine::Machine& machine, const std::vector<machine::Slot>& all,
                const std::vector<unsigned>& own, bool one_process) {
  plan::TrialSpec& spec = request.spec;
  spec.world_size = one_process ? 1 : own.size();
  const int port = channel::freePort();
  std::string devices;  // of the one process, in the order of its slots
  const unsigned count = own.size();
  for (unsigned rank = 0; rank < count; ++rank) {
    const machine::Slot slot = placedSlot(request, machine, all[own[rank]]);
    spec.slots.push_back(slot.toJson());
    if (!one_process) {
      request.environment.push_back(
          rankEnvironment({rank, count, rank, count, "127.0.0.1", port, ""}, slot.gpu ? slot.uuid : ""));
    } else if (slot.gpu) {
      devices += (devices.empty() ? "" : ",") + slot.uuid;
    }
  }
  if (one_process) request.environment.push_back(rankEnvironment({0, 1, 0, 1, "127.0.0.1", port, ""}, devices));
}

void placeRanks(TrialRequest& request, const std::vector<NodePart>& parts, const std::string& address) {
  plan::TrialSpec& spec = request.spec;
  const unsigned each = parts.front().own.size();
  spec.world_size = each * parts.size();
  // Free here, and so most likely there.
  const int port = channel::freePort();
  for (const NodePart& part : parts)
    for (unsigned local = 0; local < each; ++local) {
      const machine::Slot slot = placedSlot(request, part.machine, part.all[part.own[local]]);
      spec.slots.push_back(slot.toJson());
      const unsigned rank = request.environment.size();
      const RankPlace place{rank, spec.world_size, local, each, address, port, part.interface};
      request.environment.push_back(rankEnvironment(place, slot.gpu ? slot.uuid : ""));
    }
}

}  // namespace expc::engine
