// Probes the machine: host, kernel and control groups from /proc and /sys, the topology from hwloc, GPUs from gpus.cpp;
// and its JSON form. Slots are made in slots.cpp.

#include "runtime/machine/probe.h"

#include <hwloc.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "runtime/base/control_group.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/process.h"
#include "runtime/machine/gpus.h"
#include "runtime/machine/sets.h"
#include "runtime/machine/slots.h"

namespace expc::machine {
namespace {

/// The value of `key` in a file of lines KEY="value", such as os-release(5); "" if it is not there.
std::string keyValue(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.size() <= key.size() || line.compare(0, key.size(), key) != 0 || line[key.size()] != '=') continue;
    std::string value = line.substr(key.size() + 1);
    value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
    return value;
  }
  return {};
}

/// Bytes of physical memory; 0: not known.
uint64_t memoryBytes() {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : 0;
}

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype([](hwloc_bitmap_s* bitmap) { hwloc_bitmap_free(bitmap); })>;

/// The lowest allowed CPU of each core. Trials get one hardware thread of each core, since two would share its units.
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

/// The allowed cores in `set`; none for a null set.
std::vector<int> allowedIn(const Machine& machine, hwloc_const_cpuset_t set) {
  std::vector<int> cores;
  for (int core : machine.allowed) {
    if (set && hwloc_bitmap_isset(set, core)) cores.push_back(core);
  }
  return cores;
}

/// Reads sockets and NUMA nodes; those without an allowed core are left out.
void readPlaces(Machine& machine, hwloc_topology_t topology) {
  // Positions in these lists are used as numbers of sockets and nodes, so the order of hwloc is kept.
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, at));) {
    std::vector<int> cores = allowedIn(machine, at->cpuset);
    if (!cores.empty()) machine.packages.push_back({std::move(cores)});
  }
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, at));) {
    std::vector<int> cores = allowedIn(machine, at->cpuset);
    if (!cores.empty()) machine.nodes.push_back({int(at->os_index), std::move(cores)});
  }
}

/// Where NVML does not say how cards are joined, their NUMA nodes give a coarse answer.
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

/// Finds the cores and the NUMA node next to each GPU, by its place on the PCI bus.
void placeGpus(Machine& machine, hwloc_topology_t topology) {
  std::map<std::vector<int>, std::vector<Gpu*>> by_place;
  for (Gpu& gpu : machine.gpus) {
    hwloc_obj_t device = gpu.pci_bus.empty() ? nullptr : hwloc_get_pcidev_by_busidstring(topology, gpu.pci_bus.c_str());
    hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj(topology, device) : nullptr;
    std::vector<int> near = allowedIn(machine, place ? place->cpuset : nullptr);
    // Virtual machines often show no place; then all cores are equally near.
    if (near.empty()) near = machine.allowed;
    by_place[near].push_back(&gpu);
    if (place && place->nodeset) gpu.memory_node = hwloc_bitmap_first(place->nodeset);
  }
  joinByNode(machine.gpus);
  // GPUs at the same place share its cores out, so that ranks on them do not disturb each other.
  for (auto& [cores, gpus] : by_place) {
    for (size_t i = 0; i < gpus.size(); ++i) gpus[i]->cores = share(cores, i, gpus.size());
  }
}

/// Fills sockets, cores, threads, allowed, packages, nodes and cpu_model, and for each GPU its cores, its memory node
/// and the paths that NVML did not tell.
void readTopology(Machine& machine) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    machine.notes.push_back("hwloc does not start: cores are unknown");
    return;
  }
  // PCI devices are left out by default; loading them takes time, so only where there are GPUs.
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
  // The affinity mask of this process counts (taskset, Slurm), not all that the machine has.
  if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  machine.allowed = firstThreads(topology, allowed.get());
  readPlaces(machine, topology);
  placeGpus(machine, topology);
  hwloc_topology_destroy(topology);
}

/// Paths as an object, other card -> text: {"1": "NV4"}.
void describeWays(JsonRecord& io, std::map<unsigned, Way>& ways) {
  json::Object texts;
  for (const auto& [other, way] : ways) texts[std::to_string(other)] = wayText(way);
  io.field("ways", texts);
  // Texts from another machine or from a store are checked.
  if (!io.reads()) return;
  for (const auto& [other, text] : texts) {
    unsigned number = 0;
    const auto way = wayFrom(text.getAsString().value_or("?"));
    if (!way || !llvm::to_integer(StringRef(other), number, 10)) return io.fail("ways", "say no ways to cards");
    ways[number] = *way;
  }
}

/// The fields of a GPU as JSON.
void describeGpu(JsonRecord& io, Gpu& gpu) {
  io.required(EXPC_NAMED(gpu, index, name, uuid), "memory", gpu.memory_bytes, EXPC_NAMED(gpu, pci_bus, null));
  io.optional("memory_node", gpu.memory_node, -1);
  describeWays(io, gpu.ways);
  io.field("cores", gpu.cores, 0);
}

}  // namespace

Machine probe(const std::optional<NullGpus>& null_gpus) {
  Machine machine;
  machine.null_gpus = null_gpus;
  utsname names{};
  if (uname(&names) == 0) {
    machine.host = names.nodename;
    machine.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  machine.boot_id = base::bootId();
  machine.os = keyValue("/etc/os-release", "PRETTY_NAME");
  machine.memory_bytes = memoryBytes();
  machine.cpu_quota = base::cpuLimit();
  // A control group's limit above the machine's memory limits nothing; unlimited groups report huge numbers.
  if (const uint64_t limit = base::memoryLimit(); limit > 0 && limit < machine.memory_bytes)
    machine.memory_bytes = machine.memory_limit = limit;
  // The first core stands for all here; the doctor looks at each.
  machine.governor = base::readText("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").value_or("");

  // GPUs come first: readTopology() finds the cores next to them.
  readGpus(machine);
  readTopology(machine);
  if (machine.threads > 0 && machine.cpu_quota >= machine.threads) machine.cpu_quota = 0;  // as good as no limit
  // hwloc knows no model on some ARM machines; the architecture is better than nothing.
  if (machine.cpu_model.empty()) machine.cpu_model = names.machine;
  // Trials need a core, even if hwloc knows none.
  if (machine.allowed.empty()) machine.allowed = {0};
  return machine;
}

void describe(JsonRecord& io, Machine& machine) {
  io.required(EXPC_NAMED(machine, host, boot_id, kernel, os, cpu_model, sockets, cores, threads));
  io.field("allowed_cores", machine.allowed, 0);
  io.list("packages", machine.packages,
          [](JsonRecord& one, Package& package) { one.field("cores", package.cores, 0); });
  io.list("nodes", machine.nodes, [](JsonRecord& one, NumaNode& node) {
    one.field("index", node.index);
    one.field("cores", node.cores, 0);
  });
  io.required("cpu_quota", machine.cpu_quota, "memory", machine.memory_bytes);
  io.optional("memory_limit", machine.memory_limit, uint64_t(0));
  io.required(EXPC_NAMED(machine, governor, gpu_driver, cuda_driver, nvml_library));
  io.list("gpus", machine.gpus, describeGpu);
  io.field("notes", machine.notes);
}

}  // namespace expc::machine
