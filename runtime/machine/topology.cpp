#include "runtime/machine/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>

namespace expc::machine {
namespace {

struct BitmapFree {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapFree>;

/// The lowest allowed CPU of each core that has one.
std::vector<int> firstThreads(hwloc_topology_t topology, hwloc_const_cpuset_t allowed) {
  std::vector<int> result;
  int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  auto type = count > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;  // some virtual machines show no cores
  count = hwloc_get_nbobjs_by_type(topology, type);
  Bitmap common(hwloc_bitmap_alloc());
  for (int i = 0; i < count; ++i) {
    hwloc_bitmap_and(common.get(), hwloc_get_obj_by_type(topology, type, i)->cpuset, allowed);
    int first = hwloc_bitmap_first(common.get());
    if (first >= 0) result.push_back(first);
  }
  std::ranges::sort(result);
  return result;
}

std::vector<int> allowedIn(const Machine& machine, hwloc_const_cpuset_t set) {
  std::vector<int> cores;
  for (int core : machine.allowed) {
    if (set && hwloc_bitmap_isset(set, core)) cores.push_back(core);
  }
  return cores;
}

void readPlaces(Machine& machine, hwloc_topology_t topology) {
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, at));) {
    std::vector<int> cores = allowedIn(machine, at->cpuset);
    if (!cores.empty()) machine.packages.push_back({std::move(cores)});
  }
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, at));) {
    std::vector<int> cores = allowedIn(machine, at->cpuset);
    if (!cores.empty()) machine.nodes.push_back({static_cast<int>(at->os_index), std::move(cores)});
  }
}

/// Where NVML does not say how cards are joined, their memory nodes say a little.
void joinByNode(std::vector<Gpu>& gpus) {
  for (Gpu& gpu : gpus) {
    for (const Gpu& other : gpus) {
      Way& way = gpu.ways[other.index];
      if (&other == &gpu || way.over != Way::Over::Unknown || gpu.memory_node < 0 || other.memory_node < 0) continue;
      way.over = gpu.memory_node == other.memory_node ? Way::Over::Node : Way::Over::System;
    }
    gpu.ways.erase(gpu.index);
  }
}

void placeGpus(Machine& machine, hwloc_topology_t topology) {
  std::map<std::vector<int>, std::vector<Gpu*>> by_place;
  for (Gpu& gpu : machine.gpus) {
    std::vector<int> near;
    hwloc_obj_t device = gpu.pci_bus.empty() ? nullptr : hwloc_get_pcidev_by_busidstring(topology, gpu.pci_bus.c_str());
    hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj(topology, device) : nullptr;
    for (int core : machine.allowed) {
      if (!place || hwloc_bitmap_isset(place->cpuset, core)) near.push_back(core);
    }
    if (near.empty()) near = machine.allowed;
    by_place[near].push_back(&gpu);
    if (place && place->nodeset) gpu.memory_node = hwloc_bitmap_first(place->nodeset);
  }
  joinByNode(machine.gpus);
  // GPUs at the same place divide its cores.
  for (auto& [cores, gpus] : by_place) {
    for (size_t i = 0; i < gpus.size(); ++i) gpus[i]->cores = share(cores, i, gpus.size());
  }
}

}  // namespace

std::vector<int> share(const std::vector<int>& cores, unsigned index, unsigned parts) {
  if (cores.empty() || parts == 0) return {};
  if (parts > cores.size()) return {cores[index % cores.size()]};
  const size_t each = cores.size() / parts;
  return {cores.begin() + index * each, cores.begin() + (index + 1) * each};
}

void readTopology(Machine& machine) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    machine.notes.push_back("hwloc does not start: cores are unknown");
    return;
  }
  if (!machine.gpus.empty()) hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(topology) != 0) {
    machine.notes.push_back("hwloc cannot read the topology: cores are unknown");
    hwloc_topology_destroy(topology);
    return;
  }
  machine.sockets = std::max(0, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
  machine.cores = std::max(0, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
  machine.threads = std::max(0, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
  if (hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0)) {
    const char* model = hwloc_obj_get_info_by_name(package, "CPUModel");
    if (model) machine.cpu_model = model;
  }
  Bitmap allowed(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  machine.allowed = firstThreads(topology, allowed.get());
  readPlaces(machine, topology);
  placeGpus(machine, topology);
  hwloc_topology_destroy(topology);
}

}  // namespace expc::machine
