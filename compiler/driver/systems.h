#pragma once

#include <optional>
#include <string>

#include "compiler/check/check.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/console.h"
#include "runtime/cluster/slurm.h"
#include "runtime/engine/engine.h"
#include "runtime/machine/machine.h"

namespace expc::driver {

/// What trials run on by these options, with `worker` for built-in workloads, or where that is "" those beside this
/// program.
llvm::Expected<engine::Resources> resourcesOf(const MachineOptions& options, const std::string& worker);

/// Null cards as a system has GPUs. The error names the property that it does not say.
llvm::Expected<engine::Resources> nullResourcesOf(const check::System& system, const std::string& worker);

/// The machine called `name`: "local", as `options` say and rules with `system` and estimates see it, one that the
/// study's file declares or imports ("box", "systems.proxima"), or one of std.systems without its module ("proxima").
/// The error says which ones there are.
llvm::Expected<check::System> findSystem(const check::Program& program, const std::string& name,
                                         const MachineOptions& options);
/// This machine as rules with `system` and estimates see it: its slots (`--devices`) count as `gpus`; without a GPU
/// nothing is known of one. On the login node of an allocation only how many nodes that has.
llvm::Expected<check::System> localSystem(const MachineOptions& options);

/// The names of the machines of std.systems.
std::vector<std::string> builtInSystems();

/// The allocation that trials run in; nothing where there is none, or where agents are started by a line of the user's.
llvm::Expected<std::optional<cluster::Allocation>> allocationOf(const MachineOptions& options);

/// On how many nodes trials run by these options.
unsigned nodesOf(const MachineOptions& options, const std::optional<cluster::Allocation>& allocation);

/// The null cards that `--null-gpus` asks for, if it does. The error says how the option is written, or what is
/// missing.
llvm::Expected<std::optional<machine::NullGpus>> nullGpusOf(const MachineOptions& options);

}  // namespace expc::driver
