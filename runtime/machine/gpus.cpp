// GPUs by NVML, which is loaded at run time and called by name, and the set-up of null cards. Any call may be missing
// in an old driver or refused in a container, so each result is used only if its call succeeded.

#include "runtime/machine/gpus.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/nvml.h"
#include "runtime/base/text.h"

namespace expc::machine {
namespace {

// The part of NVML's binary interface that is used here: nvmlMemory_t, nvmlPciInfo_t and constants of nvml.h (stable
// since driver 450).
using base::Nvml;
using Device = Nvml::Device;
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
constexpr unsigned kMigEnabled = 1;
constexpr unsigned kTextSize = 128;
constexpr unsigned kMostLinks = 64;  // NVLinks of a card; there are 18 today
constexpr unsigned kToGpu = 0, kToSwitch = 2;

/// "0000:17:00.0": the form that hwloc reads.
std::string busOf(const PciInfo& pci) { return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device); }

/// One GPU, without cores and paths; fields that NVML refuses stay empty.
Gpu describe(const Nvml& nvml, unsigned index) {
  Gpu gpu;
  gpu.index = index;
  Device device = nvml.device(index);
  if (!device) return gpu;
  char text[kTextSize] = {};
  if (nvml.call("nvmlDeviceGetName", device, &text[0], kTextSize)) gpu.name = text;
  if (nvml.call("nvmlDeviceGetUUID", device, &text[0], kTextSize)) gpu.uuid = text;
  gpu.null = isNullUuid(gpu.uuid);
  MemoryInfo memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory)) gpu.memory_bytes = memory.total;
  PciInfo pci{};
  if (nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci)) gpu.pci_bus = busOf(pci);
  return gpu;
}

/// The active NVLinks of a card. Those to a switch join it with every other card there; the others lead to one card.
struct Links {
  unsigned to_switch = 0;
  std::map<std::string, unsigned> to_card;  // bus id of the other card -> number of links
};

Links linksOf(const Nvml& nvml, Device device) {
  Links links;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0, type = kToGpu;
    PciInfo pci{};
    // The call fails for the first link that the card does not have.
    if (!nvml.call("nvmlDeviceGetNvLinkState", device, link, &active)) break;
    if (active == 0) continue;
    nvml.call("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &type);
    if (type == kToSwitch) ++links.to_switch;
    if (type == kToGpu && nvml.call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &pci))
      ++links.to_card[busOf(pci)];
  }
  return links;
}

/// The nearest common ancestor of two cards.
Way::Over commonPlace(const Nvml& nvml, Device one, Device other) {
  // nvmlGpuTopologyLevel_t: 0 the same board, 10 one switch, 20 several switches, 30 a host bridge, 40 a NUMA node, 50
  // the system.
  int level = -1;
  if (!nvml.call("nvmlDeviceGetTopologyCommonAncestor", one, other, &level) || level < 0 || level > 50)
    return Way::Over::Unknown;
  constexpr Way::Over kOver[] = {Way::Over::Switch, Way::Over::Switch, Way::Over::Switches,
                                 Way::Over::Bridge, Way::Over::Node,   Way::Over::System};
  return kOver[level / 10];
}

/// Fills Gpu::ways. Through a switch two cards have as many links as the one with fewer.
void joinGpus(const Nvml& nvml, std::vector<Gpu>& gpus) {
  std::vector<Device> devices(gpus.size());
  std::vector<Links> links(gpus.size());
  for (size_t i = 0; i < gpus.size(); ++i)
    if ((devices[i] = nvml.device(gpus[i].index))) links[i] = linksOf(nvml, devices[i]);
  for (size_t i = 0; i < gpus.size(); ++i) {
    for (size_t j = 0; j < gpus.size(); ++j) {
      if (i == j || !devices[i] || !devices[j]) continue;
      gpus[i].ways[gpus[j].index] = {
          commonPlace(nvml, devices[i], devices[j]),
          valueIn(links[i].to_card, gpus[j].pci_bus).value_or(std::min(links[i].to_switch, links[j].to_switch))};
    }
  }
}

/// Whether a GPU is divided (MIG is on). CUDA shows such a GPU only in parts.
bool isDivided(const Nvml& nvml, unsigned index) {
  Device device = nvml.device(index);
  unsigned current = 0, pending = 0;
  return device && nvml.call("nvmlDeviceGetMigMode", device, &current, &pending) && current == kMigEnabled;
}

/// Asks the NVML `library` for driver and GPUs.
void askNvml(Machine& machine, const std::string& library) {
  const Nvml nvml(library);
  if (!nvml.isThere()) return;  // no NVIDIA driver: nothing to tell
  // This happens in containers without devices, and after a driver update without a restart.
  if (!nvml.works()) {
    machine.notes.emplace_back(
        "GPUs are not used: NVML does not start (no NVIDIA device, or driver and library differ)");
    return;
  }
  // The path of the library that was really loaded, so that the monitor of trials loads the same one.
  machine.nvml_library = std::filesystem::absolute(nvml.path()).string();
  char text[kTextSize] = {};
  if (nvml.call("nvmlSystemGetDriverVersion", &text[0], kTextSize)) machine.gpu_driver = text;
  nvml.call("nvmlSystemGetCudaDriverVersion_v2", &machine.cuda_driver);
  unsigned count = 0;
  if (!nvml.call("nvmlDeviceGetCount_v2", &count))
    machine.notes.emplace_back("GPUs are not used: NVML does not report their number");
  for (unsigned i = 0; i < count; ++i) {
    if (isDivided(nvml, i))
      machine.notes.push_back(fmt::format(
          "GPU {} is not used: it is partitioned (MIG). An administrator can undo this: nvidia-smi -i {} -mig 0", i,
          i));
    else
      machine.gpus.push_back(describe(nvml, i));
  }
  // After all cards are known, since each needs the bus ids of the others.
  joinGpus(nvml, machine.gpus);
}

constexpr const char* kNvml = "libnvidia-ml.so.1";
/// Preloading this library loads all others of nullgpu/, before any that torch's wheels bring.
constexpr const char* kPreload = "libnullgpu_preload.so";
constexpr unsigned kMostCards = 64;

/// The variables that tell the null libraries how many cards to show, with how much memory.
std::vector<std::pair<std::string, std::string>> cardVariables(const NullGpus& asked) {
  std::vector<std::pair<std::string, std::string>> variables;
  if (asked.cards > 0) variables.emplace_back("NULLGPU_CARDS", std::to_string(asked.cards));
  if (!asked.memory.empty()) variables.emplace_back("NULLGPU_MEMORY", asked.memory);
  return variables;
}

/// Whether the text is a number with a unit, as NULLGPU_MEMORY takes it.
bool isMemory(StringRef text) {
  const StringRef number = text.take_while([](char c) { return c >= '0' && c <= '9'; });
  return !number.empty() && llvm::StringSwitch<bool>(text.drop_front(number.size()))
                                .Cases("B", "KiB", "MiB", "GiB", "TiB", true)
                                .Cases("KB", "MB", "GB", "TB", true)
                                .Default(false);
}

/// Puts `entry` in front of the paths of a variable, unless it is among them.
void prepend(std::vector<std::string>& environment, const char* variable, const std::string& entry) {
  const char* others = std::getenv(variable);
  const std::string before = others ? others : "";
  if (before.find(entry) == std::string::npos)
    environment.push_back(std::string(variable) + "=" + entry + base::framed(":", before));
}

}  // namespace

std::vector<Gpu> visible(std::vector<Gpu> gpus, std::string_view list, std::string& note) {
  std::vector<Gpu> kept;
  for (StringRef rest = list, entry; !rest.empty();) {
    std::tie(entry, rest) = rest.split(',');
    entry = entry.trim(' ');
    unsigned index = 0;
    const bool is_index = llvm::to_integer(entry, index, 10);
    auto found = std::ranges::find_if(gpus, [&](const Gpu& gpu) {
      return is_index ? gpu.index == index : !entry.empty() && StringRef(gpu.uuid).starts_with(entry);
    });
    if (found == gpus.end()) {
      // "-1" and "NoDevFiles" are the usual ways to name no GPU.
      if (entry.starts_with("MIG-"))
        note = fmt::format(
            "CUDA_VISIBLE_DEVICES names a part of a GPU with '{}': it is not used, because expc measures on whole GPUs",
            entry);
      else if (entry != "-1" && entry != "NoDevFiles")
        note = fmt::format("CUDA_VISIBLE_DEVICES names no GPU with '{}'", entry);
      break;
    }
    kept.push_back(*found);
  }
  return kept;
}

void Variables::set(const std::string& name, const std::string& value) {
  const char* before = std::getenv(name.c_str());
  before_.emplace_back(name, before ? std::optional<std::string>(before) : std::nullopt);
  setenv(name.c_str(), value.c_str(), 1);
}

Variables::~Variables() {
  for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
}

bool isNullUuid(std::string_view uuid) { return StringRef(uuid).starts_with("GPU-6e756c6c"); }

Expected<NullGpus> nullGpusFrom(std::string_view text, const std::string& folder) {
  NullGpus asked;
  if (text == "found") return asked;
  const auto [cards, memory] = StringRef(text).split('x');
  const bool has_memory = cards.size() < text.size();
  if (!llvm::to_integer(cards, asked.cards, 10) || asked.cards == 0 || asked.cards > kMostCards ||
      (has_memory && !isMemory(memory))) {
    return failure(
        "simulated GPUs '{}': expected a number of GPUs up to {}, optionally with their memory, such as 4 or 4x94GiB; "
        "or "
        "'found' for those that the machine shows",
        text, kMostCards);
  }
  asked.memory = memory.str();
  for (const char* name : {kNvml, kPreload}) {
    if (std::filesystem::exists(std::filesystem::path(folder) / name)) continue;
    return failure("simulated GPUs '{}': {} is not in {}: `make cuda` builds the simulated GPU and the worker for it",
                   text, name, folder);
  }
  asked.library = (std::filesystem::path(folder) / kNvml).string();
  return asked;
}

void readGpus(Machine& machine) {
  const bool own = machine.null_gpus && machine.null_gpus->cards > 0;
  {
    // The variables are needed only while the library starts, in askNvml().
    Variables variables;
    if (own)
      for (const auto& [name, value] : cardVariables(*machine.null_gpus)) variables.set(name, value);
    askNvml(machine, own ? machine.null_gpus->library : Nvml::usual());
  }
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list && !own) {
    std::string note;
    machine.gpus = visible(std::move(machine.gpus), list, note);
    if (!note.empty()) machine.notes.push_back(note);
  }
  // Real and null cards are never mixed.
  const size_t hidden =
      std::erase_if(machine.gpus, [&](const Gpu& gpu) { return gpu.null != machine.null_gpus.has_value(); });
  if (!machine.null_gpus && hidden > 0)
    machine.notes.push_back(
        fmt::format("the {} of this machine compute nothing and are not used (--null-gpus found uses them)",
                    base::counted(hidden, "simulated GPU")));
}

std::vector<std::string> nullEnvironment(const Machine& machine, const std::string& machine_file) {
  std::vector<std::string> environment{"EXPC_NVML_LIBRARY=" + machine.nvml_library};
  if (machine.null_gpus) {
    for (const auto& [name, value] : cardVariables(*machine.null_gpus)) environment.push_back(name + "=" + value);
  }
  const char* shared = std::getenv("NULLGPU_MACHINE");  // set by a test or user; commands do not inherit it
  environment.push_back("NULLGPU_MACHINE=" + (shared ? std::string(shared) : machine_file));
  // A machine that shows null cards by itself may lack the library for preloading; its own set-up does that then.
  const std::filesystem::path preload = std::filesystem::path(machine.nvml_library).parent_path() / kPreload;
  if (std::filesystem::exists(preload)) {
    // LD_PRELOAD wins over libraries in torch's fixed search path. LD_LIBRARY_PATH is for libraries that the program
    // itself needs, and which are loaded before the preloaded one's own needs are met.
    prepend(environment, "LD_PRELOAD", preload.string());
    prepend(environment, "LD_LIBRARY_PATH", preload.parent_path().string());
  }
  return environment;
}

}  // namespace expc::machine
