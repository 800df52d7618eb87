#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "cli/compilation.h"
#include "runtime/base/process.h"
#include "runtime/machine/gpus.h"

namespace expc::cli {
namespace {

check::Value count(uint64_t number) { return check::Value::number(static_cast<int64_t>(number)); }
check::Value bytes(uint64_t number) {
  return check::Value::number(static_cast<int64_t>(number), check::Dimension::of(check::Dimension::Bytes));
}

/// The machines that come with expc: checked on their own, so that no study needs to import them.
std::vector<check::System> builtIn() {
  Compilation compilation;
  compile("systems", "import std.systems\n", load::FileSystem::real(), compilation);
  std::vector<check::System> systems;
  for (const auto& system : compilation.program->systems) {
    systems.push_back(*system);
    systems.back().name = systems.back().name.substr(systems.back().name.rfind('.') + 1);
  }
  return systems;
}

/// A program or folder beside this program.
std::string besideThis(const char* name) { return (base::programFolder() / name).lexically_normal().string(); }

/// The machine of the newest session of a store, of one on real devices if there are any; nothing where none says it.
std::optional<check::System> measuredSystem(const store::Store& store) {
  std::vector<const store::Session*> sessions;
  for (const auto& [id, session] : store.contents().sessions) sessions.push_back(&session);
  std::stable_partition(sessions.begin(), sessions.end(), [](const auto* session) { return session->onNullCards(); });
  for (const store::Session* session : llvm::reverse(sessions)) {
    const auto environment = llvm::expectedToOptional(base::parseJson(session->environment_json));
    const llvm::json::Object* object = environment ? environment->getAsObject() : nullptr;
    if (const llvm::json::Object* system = object ? object->getObject("system") : nullptr)
      return check::systemFromJson("local", *system);
  }
  return std::nullopt;
}

}  // namespace

llvm::Expected<check::System> localSystem(const MachineOptions& options) {
  auto null_gpus = nullGpusOf(options);
  if (!null_gpus) return null_gpus.takeError();
  const machine::Machine machine = machine::probe(*null_gpus);
  llvm::Expected<std::vector<machine::Slot>> slots = machine::slots(machine, options.devices);
  if (!slots) return slots.takeError();
  check::System system = check::System::unknown("local");
  // Of one that cannot be read a run says so; until then nobody knows how many.
  const auto allocation = llvm::expectedToOptional(allocationOf(options));
  if (allocation) system.set("nodes", count(nodesOf(options, *allocation)));
  // Of nodes that this is none of nothing else is known before they are asked.
  if (allocation && *allocation && !(*allocation)->is_here) return system;
  system.set("gpus", count(slots->size()));
  system.set("gpu.present", check::Value::boolean(slots->front().gpu));
  if (machine.sockets > 0) system.set("sockets", count(machine.sockets));
  if (machine.cores > 0) system.set("cores", count(machine.cores));
  if (machine.memory_bytes > 0) system.set("memory", bytes(machine.memory_bytes));
  uint64_t memory = 0;
  for (const machine::Slot& slot : *slots)
    for (const machine::Gpu& gpu : machine.gpus) {
      if (!slot.gpu || gpu.index != slot.index) continue;
      system.set("gpu.name", check::Value::text(gpu.name));
      memory = memory == 0 ? gpu.memory_bytes : std::min(memory, gpu.memory_bytes);
    }
  if (memory > 0) system.set("gpu.memory", bytes(memory));
  return system;
}

llvm::Expected<std::optional<cluster::Allocation>> allocationOf(const MachineOptions& options) {
  if (!options.agents.empty()) return std::nullopt;
  return cluster::allocation();
}

unsigned nodesOf(const MachineOptions& options, const std::optional<cluster::Allocation>& allocation) {
  return options.nodes.value_or(allocation ? static_cast<unsigned>(allocation->nodes.size()) : 1);
}

llvm::Expected<std::optional<machine::NullGpus>> nullGpusOf(const MachineOptions& options) {
  if (options.null_gpus.empty()) return std::nullopt;
  const char* folder = std::getenv("EXPC_NULLGPU_FOLDER");  // for tests
  return machine::nullGpusFrom(options.null_gpus, folder ? folder : besideThis("../lib/nullgpu"));
}

llvm::Error addResources(const MachineOptions& options, engine::Resources& resources) {
  auto null_gpus = nullGpusOf(options);
  if (!null_gpus) return null_gpus.takeError();
  resources.null_gpus = std::move(*null_gpus);
  if (resources.worker.empty()) resources.cuda_worker = besideThis("expc-worker-cuda");
  if (resources.worker.empty()) resources.worker = besideThis("expc-worker");
  resources.command_worker = besideThis("expc-worker-command");
  resources.devices = options.devices;
  return llvm::Error::success();
}

llvm::Expected<check::System> findSystem(const check::Program& program, const std::string& name,
                                         const MachineOptions& options) {
  if (name == "local") {
    if (const store::Store* store = options.measured ? options.measured() : nullptr)
      if (auto measured = measuredSystem(*store)) return std::move(*measured);
    return localSystem(options);
  }
  if (!options.devices.empty())
    return llvm::createStringError(
        fmt::format("--devices are slots of this machine, and --system {} is another", name));
  std::vector<std::string> names = {"local"};
  for (const auto& system : program.systems) {
    if (system->name == name) return *system;
    names.push_back(system->name);
  }
  for (check::System& system : builtIn()) {
    if (system.name == name) return std::move(system);
    names.push_back(system.name);
  }
  const auto best = diag::closest(name, names);
  return llvm::createStringError(fmt::format("there is no system '{}'{} (there are {})", name,
                                             best ? fmt::format("; did you mean '{}'?", *best) : "",
                                             fmt::join(names, ", ")));
}

std::vector<std::string> builtInSystems() {
  std::vector<std::string> names;
  for (const check::System& system : builtIn()) names.push_back(system.name);
  return names;
}

}  // namespace expc::cli
