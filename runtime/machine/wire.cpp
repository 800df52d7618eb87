#include "runtime/machine/wire.h"

#include <utility>

namespace expc::machine {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::ObjectMapper;
using llvm::json::Path;
using llvm::json::Value;

namespace {

constexpr uint64_t kMostSmall = 1u << 30;

/// A whole number that an unsigned holds.
bool mapSmall(ObjectMapper& map, llvm::StringLiteral name, unsigned& out) {
  uint64_t number = 0;
  if (!map.map(name, number) || number > kMostSmall) return false;
  out = static_cast<unsigned>(number);
  return true;
}

Value wayToWire(const Way& way) { return Array{static_cast<int>(way.over), way.nvlinks}; }

bool wayFromWire(const Value& value, Way& way) {
  const Array* pair = value.getAsArray();
  if (!pair || pair->size() != 2) return false;
  const auto over = (*pair)[0].getAsInteger(), links = (*pair)[1].getAsInteger();
  if (!over || !links || *over < 0 || *over > static_cast<int>(Way::Over::System) || *links < 0) return false;
  way = {static_cast<Way::Over>(*over), static_cast<unsigned>(*links)};
  return true;
}

Object toWire(const Gpu& gpu) {
  Object ways;
  for (const auto& [other, way] : gpu.ways) ways[std::to_string(other)] = wayToWire(way);
  return Object{{"index", gpu.index},
                {"name", gpu.name},
                {"uuid", gpu.uuid},
                {"memory", gpu.memory_bytes},
                {"pci_bus", gpu.pci_bus},
                {"cores", Array(gpu.cores)},
                {"memory_node", gpu.memory_node},
                {"ways", std::move(ways)}};
}

}  // namespace

bool fromJSON(const Value& value, Gpu& gpu, Path path) {
  ObjectMapper map(value, path);
  if (!map || !mapSmall(map, "index", gpu.index) || !map.map("name", gpu.name) || !map.map("uuid", gpu.uuid) ||
      !map.map("memory", gpu.memory_bytes) || !map.map("pci_bus", gpu.pci_bus) || !map.map("cores", gpu.cores) ||
      !map.map("memory_node", gpu.memory_node))
    return false;
  const Object* ways = value.getAsObject()->getObject("ways");
  for (const auto& [other, way] : ways ? *ways : Object{}) {
    unsigned index = 0;
    if (llvm::StringRef(other).getAsInteger(10, index) || !wayFromWire(way, gpu.ways[index])) return false;
  }
  return true;
}

bool fromJSON(const Value& value, NumaNode& node, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("index", node.index) && map.map("cores", node.cores);
}

Object toWire(const Machine& machine) {
  Array gpus, packages, nodes;
  for (const Gpu& gpu : machine.gpus) gpus.push_back(toWire(gpu));
  for (const Package& package : machine.packages) packages.push_back(Array(package.cores));
  for (const NumaNode& node : machine.nodes)
    nodes.push_back(Object{{"index", node.index}, {"cores", Array(node.cores)}});
  return Object{{"host", machine.host},
                {"boot_id", machine.boot_id},
                {"kernel", machine.kernel},
                {"os", machine.os},
                {"cpu_model", machine.cpu_model},
                {"sockets", machine.sockets},
                {"cores", machine.cores},
                {"threads", machine.threads},
                {"allowed", Array(machine.allowed)},
                {"packages", std::move(packages)},
                {"nodes", std::move(nodes)},
                {"cpu_quota", machine.cpu_quota},
                {"memory", machine.memory_bytes},
                {"governor", machine.governor},
                {"gpu_driver", machine.gpu_driver},
                {"cuda_driver", machine.cuda_driver},
                {"nvml_library", machine.nvml_library},
                {"gpus", std::move(gpus)},
                {"notes", Array(machine.notes)}};
}

std::optional<Machine> machineFromWire(const Value& value) {
  Path::Root root;
  ObjectMapper map(value, root);
  Machine machine;
  std::vector<std::vector<int>> packages;
  const bool whole =
      map && map.map("host", machine.host) && map.map("boot_id", machine.boot_id) &&
      map.map("kernel", machine.kernel) && map.map("os", machine.os) && map.map("cpu_model", machine.cpu_model) &&
      mapSmall(map, "sockets", machine.sockets) && mapSmall(map, "cores", machine.cores) &&
      mapSmall(map, "threads", machine.threads) && map.map("allowed", machine.allowed) &&
      map.map("packages", packages) && map.map("nodes", machine.nodes) && map.map("cpu_quota", machine.cpu_quota) &&
      map.map("memory", machine.memory_bytes) && map.map("governor", machine.governor) &&
      map.map("gpu_driver", machine.gpu_driver) && map.map("cuda_driver", machine.cuda_driver) &&
      map.map("nvml_library", machine.nvml_library) && map.map("gpus", machine.gpus) && map.map("notes", machine.notes);
  if (!whole) return std::nullopt;
  for (std::vector<int>& cores : packages) machine.packages.push_back({std::move(cores)});
  return machine;
}

}  // namespace expc::machine
