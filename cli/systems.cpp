// Machines for commands: which system a plan is for ("local", a declared one, one of std.systems), what is known of
// this machine, and which devices, nodes and workers trials get. What is not known stays unknown rather than guessed:
// rules with `system` then have no value. The hardware is read by runtime/machine, the allocation by runtime/cluster.

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "cli/compilation.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/machine/gpus.h"
#include "runtime/machine/probe.h"
#include "runtime/machine/slots.h"

namespace expc::cli {
namespace {

/// Values of the language for counts and for sizes.
check::Value count(uint64_t number) { return check::Value::number(int64_t(number)); }
check::Value bytes(uint64_t number) {
  return check::Value::number(int64_t(number), check::Dimension::of(check::Dimension::Bytes));
}

/// Returns the machines that come with expc, under names without their module. They are checked by themselves, so that
/// no study must import them.
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

/// Returns the path of a program or folder beside this program.
std::string besideThis(const char* name) { return (base::programFolder() / name).lexically_normal().string(); }

/// Returns the machine of the newest session of a store, preferring sessions on real devices; nothing if no session
/// recorded one.
std::optional<check::System> measuredSystem(const store::Store& store) {
  std::vector<const store::Session*> sessions;
  for (const auto& [id, session] : store.contents().sessions) sessions.push_back(&session);
  // Sessions on null cards go first and the order of time stays, so the last one is the newest on real devices, if
  // there is any.
  std::ranges::stable_partition(sessions, [](const auto* session) { return session->onNullCards(); });
  for (const store::Session* session : llvm::reverse(sessions)) {
    const auto environment = expectedToOptional(parseJson(session->environment_json));
    const json::Object* object = environment ? environment->getAsObject() : nullptr;
    if (const json::Object* system = object ? object->getObject("system") : nullptr)
      return check::systemFromJson("local", *system);
  }
  return std::nullopt;
}

}  // namespace

Expected<check::System> localSystem(const MachineOptions& options) {
  auto null_gpus = TRY(nullGpusOf(options));
  const Machine machine = machine::probe(null_gpus);
  std::vector<machine::Slot> slots = TRY(machine::slots(machine, options.devices));
  check::System system = check::System::unknown("local");
  // An allocation that cannot be read leaves the number of nodes unknown; a run reports the error.
  const auto allocation = expectedToOptional(allocationOf(options));
  if (allocation) system.set("nodes", count(nodesOf(options, *allocation)));
  // If this machine is not one of the run's nodes, as on a login node, only their number is known before they are
  // asked.
  if (allocation && *allocation && !(*allocation)->is_here) return system;
  system.set("gpus", count(slots.size()));
  system.set("gpu.present", check::Value::boolean(slots.front().gpu));
  if (machine.sockets > 0) system.set("sockets", count(machine.sockets));
  if (machine.cores > 0) system.set("cores", count(machine.cores));
  if (machine.memory_bytes > 0) system.set("memory", bytes(machine.memory_bytes));
  // The smallest GPU in use decides: a point must fit on each of them.
  uint64_t memory = 0;
  for (const machine::Slot& slot : slots)
    for (const machine::Gpu& gpu : machine.gpus) {
      if (!slot.gpu || gpu.index != slot.index) continue;
      system.set("gpu.name", check::Value::text(gpu.name));
      memory = memory == 0 ? gpu.memory_bytes : std::min(memory, gpu.memory_bytes);
    }
  if (memory > 0) system.set("gpu.memory", bytes(memory));
  return system;
}

Expected<std::optional<cluster::Allocation>> allocationOf(const MachineOptions& options) {
  if (!options.agents.empty()) return std::nullopt;
  return cluster::allocation();
}

unsigned nodesOf(const MachineOptions& options, const std::optional<cluster::Allocation>& allocation) {
  return options.nodes.value_or(allocation ? unsigned(allocation->nodes.size()) : 1);
}

Expected<std::optional<machine::NullGpus>> nullGpusOf(const MachineOptions& options) {
  if (options.null_gpus.empty()) return std::nullopt;
  const char* folder = std::getenv("EXPC_NULLGPU_FOLDER");  // tests use the build's folder
  return machine::nullGpusFrom(options.null_gpus, folder ? folder : besideThis("../lib/nullgpu"));
}

Error addResources(const MachineOptions& options, engine::Resources& resources) {
  resources.null_gpus = TRY(nullGpusOf(options));
  // A worker that was named runs on every device, so no second one is looked for.
  if (resources.worker.empty()) resources.cuda_worker = besideThis("expc-worker-cuda");
  if (resources.worker.empty()) resources.worker = besideThis("expc-worker");
  resources.command_worker = besideThis("expc-worker-command");
  resources.devices = options.devices;
  return Error::success();
}

Expected<check::System> findSystem(const check::Program& program, const std::string& name,
                                   const MachineOptions& options) {
  if (name == "local") {
    // A reader of results wants the machine that measured; only without one it is this machine.
    if (const store::Store* store = options.measured ? options.measured() : nullptr)
      if (auto measured = measuredSystem(*store)) return std::move(*measured);
    return localSystem(options);
  }
  // Devices are slots of this machine and mean nothing on another.
  if (!options.devices.empty())
    return failure("--devices selects devices of this machine, but --system {} is another machine", name);
  std::vector<std::string> names = {"local"};
  for (const auto& system : program.systems) {
    if (system->name == name) return *system;
    names.push_back(system->name);
  }
  // Systems of the study come first: one with the name of a built-in one hides it.
  for (check::System& system : builtIn()) {
    if (system.name == name) return std::move(system);
    names.push_back(system.name);
  }
  const auto best = diag::closest(name, names);
  return failure("unknown system '{}'{} (there are {})", name, best ? fmt::format("; did you mean '{}'?", *best) : "",
                 fmt::join(names, ", "));
}

std::vector<std::string> builtInSystems() {
  std::vector<std::string> names;
  for (const check::System& system : builtIn()) names.push_back(system.name);
  return names;
}

}  // namespace expc::cli
