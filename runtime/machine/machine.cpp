#include "runtime/machine/machine.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/base/process.h"
#include "runtime/machine/null_gpus.h"
#include "runtime/machine/nvml.h"
#include "runtime/machine/sets.h"
#include "runtime/machine/topology.h"
#include "runtime/plan/json_record.h"

namespace expc::machine {
namespace {

std::string firstLine(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The value of KEY="value" in a file of such lines.
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

/// CPUs that the control group grants (version 2, then version 1); 0: no limit.
double cpuQuota() {
  std::istringstream v2(firstLine("/sys/fs/cgroup/cpu.max"));
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::strtod(quota.c_str(), nullptr) / period;
  double v1_quota = std::strtod(firstLine("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str(), nullptr);
  double v1_period = std::strtod(firstLine("/sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str(), nullptr);
  return v1_quota > 0 && v1_period > 0 ? v1_quota / v1_period : 0;
}

uint64_t memoryBytes() {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : 0;
}

/// What NVML says, with the cards that `machine.null_gpus` asks for and no others.
void readGpus(Machine& machine) {
  const bool own = machine.null_gpus && machine.null_gpus->cards > 0;
  NvmlAnswer nvml = own ? askNullNvml(*machine.null_gpus) : askNvml();
  machine.gpu_driver = nvml.driver;
  machine.cuda_driver = nvml.cuda_driver;
  machine.nvml_library = nvml.library;
  machine.gpus = std::move(nvml.gpus);
  machine.notes = std::move(nvml.notes);
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list && !own) {
    std::string note;
    machine.gpus = visible(std::move(machine.gpus), list, note);
    if (!note.empty()) machine.notes.push_back(note);
  }
  const size_t shown = machine.gpus.size();
  std::erase_if(machine.gpus, [&](const Gpu& gpu) { return gpu.null != machine.null_gpus.has_value(); });
  if (!machine.null_gpus && machine.gpus.size() < shown)
    machine.notes.push_back(
        fmt::format("the {} null GPU{} of this machine compute nothing and are not used (--null-gpus found uses them)",
                    shown - machine.gpus.size(), shown - machine.gpus.size() == 1 ? "" : "s"));
}

/// Numbers of cores.
void describeCores(plan::JsonRecord& io, plan::JsonRecord::Key key, std::vector<int>& cores) {
  std::vector<unsigned> numbers(cores.begin(), cores.end());
  io.field(key, numbers);
  cores.assign(numbers.begin(), numbers.end());
}

/// As an object that says of each other card how it is reached: {"1": "NV4"}.
void describeWays(plan::JsonRecord& io, std::map<unsigned, Way>& ways) {
  llvm::json::Object texts;
  for (const auto& [other, way] : ways) texts[std::to_string(other)] = wayText(way);
  io.field("ways", texts);
  if (!io.reads()) return;
  for (const auto& [other, text] : texts) {
    unsigned number = 0;
    const auto way = wayFrom(text.getAsString().value_or("?"));
    if (!way || !llvm::to_integer(llvm::StringRef(other), number, 10)) return io.fail("ways", "say no ways to cards");
    ways[number] = *way;
  }
}

void describeGpu(plan::JsonRecord& io, Gpu& gpu) {
  io.field("index", gpu.index);
  io.field("name", gpu.name);
  io.field("uuid", gpu.uuid);
  io.field("memory", gpu.memory_bytes);
  io.field("pci_bus", gpu.pci_bus);
  io.field("null", gpu.null);
  io.optional("memory_node", gpu.memory_node, -1);
  describeWays(io, gpu.ways);
  describeCores(io, "cores", gpu.cores);
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
  machine.cpu_quota = cpuQuota();
  machine.governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");

  readGpus(machine);
  readTopology(machine);
  if (machine.cpu_model.empty()) machine.cpu_model = names.machine;
  if (machine.allowed.empty()) machine.allowed = {0};
  return machine;
}

void describe(plan::JsonRecord& io, Machine& machine) {
  io.field("host", machine.host);
  io.field("boot_id", machine.boot_id);
  io.field("kernel", machine.kernel);
  io.field("os", machine.os);
  io.field("cpu_model", machine.cpu_model);
  io.field("sockets", machine.sockets);
  io.field("cores", machine.cores);
  io.field("threads", machine.threads);
  describeCores(io, "allowed_cores", machine.allowed);
  io.list("packages", machine.packages,
          [](plan::JsonRecord& one, Package& package) { describeCores(one, "cores", package.cores); });
  io.list("nodes", machine.nodes, [](plan::JsonRecord& one, NumaNode& node) {
    one.field("index", node.index);
    describeCores(one, "cores", node.cores);
  });
  io.field("cpu_quota", machine.cpu_quota);
  io.field("memory", machine.memory_bytes);
  io.field("governor", machine.governor);
  io.field("gpu_driver", machine.gpu_driver);
  io.field("cuda_driver", machine.cuda_driver);
  io.field("nvml_library", machine.nvml_library);
  io.list("gpus", machine.gpus, describeGpu);
  io.field("notes", machine.notes);
}

}  // namespace expc::machine
