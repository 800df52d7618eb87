// Device slots: which there are, which `--devices` names, where cores and memory of a slot lie for `numa`, and the
// environment class of trials on them.

#include "runtime/machine/slots.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/machine/sets.h"

namespace expc::machine {
namespace {

// CPU slots without `--devices`: more of them would only make trials small, and the user can ask for more.
constexpr unsigned kDefaultCpuSlots = 4;
// Upper bound on the slots that `cpu:N` puts on one core, against a mistyped number.
constexpr unsigned kMostOnACore = 16;

/// The error of a value of `--devices`.
Error bad(std::string_view devices, std::string_view why) { return failure("--devices {}: {}", devices, why); }

/// `count` CPU slots that share the allowed cores.
std::vector<Slot> cpuSlots(const Machine& machine, unsigned count) {
  std::vector<Slot> result(count);
  for (unsigned i = 0; i < count; ++i) {
    result[i].index = i;
    result[i].cores = share(machine.allowed, i, count);
  }
  return result;
}

/// A slot for each GPU, with the cores next to it.
std::vector<Slot> gpuSlots(const Machine& machine) {
  std::vector<Slot> result;
  for (const Gpu& gpu : machine.gpus) result.push_back({true, gpu.index, gpu.name, gpu.uuid, gpu.null, gpu.cores, {}});
  return result;
}

/// The number of cores that can really run at the same time: a quota of the control group may be below the affinity
/// mask.
unsigned usableCores(const Machine& machine) {
  unsigned cores = machine.allowed.size();
  if (machine.cpu_quota > 0) cores = std::min<unsigned>(cores, std::max(1.0, std::floor(machine.cpu_quota)));
  return std::max(1u, cores);
}

/// Whether several CPU slots share a core, which only `cpu:N` allows.
bool shareCores(const Machine& machine, const std::vector<Slot>& slots) {
  return !slots.empty() && !slots.front().gpu && slots.size() > usableCores(machine);
}

/// The error if null cards were asked for and there are none: the machine shows none, or the build lacks them.
Error noNullGpus(const NullGpus& asked) {
  if (asked.cards == 0) return failure("--null-gpus found: this machine shows none; --null-gpus 4 simulates four");
  return failure("--null-gpus {}: {} shows no simulated GPU; build it again with `make cuda`", asked.cards,
                 asked.library);
}

/// The memory of a card in bytes; 0: not known. Null cards differ in nothing else that matters to a study.
uint64_t memoryOf(const Machine& machine, const Slot& slot) {
  const auto gpu = std::ranges::find(machine.gpus, slot.uuid, &Gpu::uuid);
  return gpu == machine.gpus.end() ? 0 : gpu->memory_bytes;
}

/// A version among the worker's libraries, which is a word or a number.
std::string versionText(const json::Value& value) {
  if (const auto text = value.getAsString()) return text->str();
  if (const auto number = value.getAsInteger()) return std::to_string(*number);
  return "?";
}

/// Indices of the places (sockets or NUMA nodes) that have some of `cores`.
std::vector<size_t> placesOf(const auto& places, const std::vector<int>& cores) {
  std::vector<size_t> result;
  for (size_t i = 0; i < places.size(); ++i)
    if (std::ranges::any_of(cores, [&](int core) { return is_contained(places[i].cores, core); })) result.push_back(i);
  return result;
}

/// The cores of the socket `other` at the same positions as `cores` in the socket `own`. So slots that are disjoint on
/// one socket stay disjoint on the other.
std::vector<int> mirrored(const std::vector<int>& cores, const std::vector<int>& own, const std::vector<int>& other) {
  std::set<int> result;
  for (size_t i = 0; i < own.size(); ++i) {
    if (is_contained(cores, own[i])) result.insert(other[i % other.size()]);
  }
  return {result.begin(), result.end()};
}

}  // namespace

json::Object Slot::toJson() const {
  json::Object object{{"device", gpu ? "cuda" : "cpu"}, {"index", index}, {"cores", json::Array(cores)}};
  if (!memory_nodes.empty()) object["memory_nodes"] = json::Array(memory_nodes);
  // The number of threads matters only if no cores give it (numa = any).
  if (cores.empty() && threads > 0) object["threads"] = threads;
  if (gpu) {
    object["name"] = name;
    object["uuid"] = uuid;
    if (null) object["null"] = true;
  }
  return object;
}

std::vector<int> share(const std::vector<int>& cores, unsigned index, unsigned parts) {
  if (cores.empty() || parts == 0) return {};
  if (parts > cores.size()) return {cores[index % cores.size()]};
  const size_t each = cores.size() / parts;
  return {cores.begin() + index * each, cores.begin() + (index + 1) * each};
}

Expected<std::vector<Slot>> slots(const Machine& machine, std::string_view devices) {
  bool use_gpus = !machine.gpus.empty();
  if (machine.null_gpus && !use_gpus) return noNullGpus(*machine.null_gpus);
  if (devices.empty()) {
    // Without --devices: all GPUs, else a few CPU slots.
    return use_gpus ? gpuSlots(machine) : cpuSlots(machine, std::min(kDefaultCpuSlots, usableCores(machine)));
  }
  StringRef number = devices;
  const bool may_share = number.consume_front("cpu:");
  if (may_share) use_gpus = false;
  unsigned count = 0;
  if (!llvm::to_integer(number, count, 10))
    return bad(devices, "expected a number of devices, as in --devices 2, or of CPU devices, as in --devices cpu:2");
  if (count == 0) return bad(devices, "at least one device is needed");
  // With cpu:N slots may share cores, which is for trying a study; times then say nothing, and summary() says so.
  const unsigned there = use_gpus ? machine.gpus.size() : usableCores(machine);
  const std::string offers = fmt::format("this machine offers {}", base::counted(there, use_gpus ? "GPU" : "core"));
  if (may_share && count > there * kMostOnACore)
    return bad(devices, fmt::format("{}, for at most {} CPU devices", offers, there * kMostOnACore));
  if (!may_share && count > there) {
    const std::string way_out = fmt::format(
        ", one for each CPU device (cpu:{} lets devices share cores: to try a study, not to measure)", count);
    return bad(devices, use_gpus ? offers : offers + way_out);
  }
  if (!use_gpus) return cpuSlots(machine, count);
  std::vector<Slot> result = gpuSlots(machine);
  result.resize(count);
  return result;
}

std::optional<Slot> placed(const Machine& machine, const Slot& slot, Placement place) {
  Slot result = slot;
  result.threads = unsigned(slot.cores.size());
  // Unbound, but with as many threads as cores of the slot, so that only the binding differs.
  if (place == Placement::Any) {
    result.cores.clear();
    return result;
  }
  if (place == Placement::Far) {
    const std::vector<size_t> home = placesOf(machine.packages, slot.cores);
    if (machine.packages.size() < 2 || home.size() != 1) return std::nullopt;
    // The next socket, cyclically, so that the ranks of different sockets do not all move to the first.
    const auto& other = machine.packages[(home.front() + 1) % machine.packages.size()].cores;
    if (other.empty()) return std::nullopt;
    result.cores = mirrored(slot.cores, machine.packages[home.front()].cores, other);
    result.threads = unsigned(result.cores.size());
  }
  // Memory comes from the nodes next to the cores.
  result.memory_nodes.clear();
  for (const size_t node : placesOf(machine.nodes, result.cores))
    result.memory_nodes.push_back(machine.nodes[node].index);
  std::ranges::sort(result.memory_nodes);
  return result;
}

std::string environmentClass(const Machine& machine, const std::vector<Slot>& slots, const json::Value& libraries,
                             unsigned beside) {
  // Written out as text rather than hashed from JSON, since the order of keys in JSON is up to the library.
  std::string text = fmt::format("cpu={}\ndriver={}\n", machine.cpu_model, machine.gpu_driver);
  for (const Slot& slot : slots) {
    text += fmt::format("slot={}:{}:{}\n",
                        slot.null  ? "null"
                        : slot.gpu ? "cuda"
                                   : "cpu",
                        slot.name, slot.cores.size());
    if (slot.null) text += fmt::format("memory={}\n", memoryOf(machine, slot));  // the name of a real card implies it
  }
  if (const std::string kind = joinedText(machine, slots); !kind.empty()) text += fmt::format("joined={}\n", kind);
  // Each line from here on is added only where it applies, so that the classes of all other machines stay what they
  // were.
  if (shareCores(machine, slots)) text += fmt::format("cores={}\n", usableCores(machine));
  if (beside > 1) text += fmt::format("beside={}\n", beside);
  if (const json::Object* object = libraries.getAsObject()) {
    std::vector<std::string> lines;
    for (const auto& [key, value] : *object) {
      lines.push_back(fmt::format("library={}:{}\n", std::string_view(StringRef(key)), versionText(value)));
    }
    std::ranges::sort(lines);
    for (const std::string& line : lines) text += line;
  }
  llvm::BLAKE3 hasher;
  hasher.update(text);
  return llvm::toHex(hasher.final<8>(), /*LowerCase=*/true);
}

std::string summary(const Machine& machine, const std::vector<Slot>& slots) {
  std::string text = machine.cpu_model + ", " + base::counted(machine.cores, "core");
  if (machine.cpu_quota > 0) text += fmt::format(" (quota {:.3g})", machine.cpu_quota);
  const double gib = double(machine.memory_bytes) / double(1ull << 30);
  text += machine.memory_limit > 0 ? fmt::format(", {:.1f} GiB (limit)", gib) : fmt::format(", {:.0f} GiB", gib);
  if (slots.empty()) return text;
  const Slot& first = slots.front();
  if (first.gpu) return fmt::format("{}; {} x {}", text, slots.size(), first.name);
  if (shareCores(machine, slots)) {
    return fmt::format("{}; {} CPU devices that share {}: good for trying a study, not for timing", text, slots.size(),
                       base::counted(usableCores(machine), "core"));
  }
  return fmt::format("{}; {} of {}", text, base::counted(slots.size(), "CPU device"),
                     base::counted(first.cores.size(), "core"));
}

}  // namespace expc::machine
