#pragma once

// Prepares the first trial of a run or rehearsal: the slots, and the programs that run trials on them. Private to this
// directory.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/files/files.h"
#include "runtime/engine/inputs/command_files.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/inputs/file_watch.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/worker_client.h"
#include "runtime/engine/nodes/nodes.h"
#include "runtime/engine/options.h"
#include "runtime/engine/progress.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/sets.h"
#include "runtime/store/store.h"

namespace expc::engine {

/// The variables that a command of the study gets from the environment of `expc`: an allow list, so that a result does
/// not hang on what nobody recorded.
struct CommandEnvironment {
  std::vector<std::string> variables;  // "NAME=value", sorted: all that there is but what expc sets itself
  /// Digest of the environment variables that must be equal for two trials to be comparable: all except user names and
  /// temporary folders.
  std::string digest;
  /// The same for people. Of one that was passed by name only a digest: it may be a secret.
  llvm::json::Object recorded;
  std::vector<std::string> withheld;  // names of variables that are set here and that commands do not get, sorted
};

/// A worker program, described.
struct WorkerProgram {
  std::string path;
  launch::WorkerDescription description;
  std::string environment_class;  // of its trials
};

/// The devices of one lane, beside those of the others.
struct LaneDevices {
  std::vector<machine::Slot> slots;
  machine::AlikeSets sets;  // of them, for trials on several
  unsigned node = 0;        // where they are
  /// Such devices on further nodes, for trials that need more than one node has.
  std::vector<LaneDevices> beyond;

  std::vector<unsigned> nodes() const;  // `node` and those beyond it
  /// How many of these nodes a point takes: as few as have its devices.
  unsigned nodesFor(const plan::Point& point) const;
};

struct Setup {
  plan::Plan plan;           // points that need more devices than there are marked unavailable
  machine::Machine machine;  // that of the engine, or the first node
  std::vector<machine::Slot> slots;
  std::vector<LaneDevices> lanes;                   // disjoint and alike; one of all slots where nothing is shared
  std::optional<WorkerProgram> built_in, command;   // those that some workload of the plan needs
  std::string heater;                               // a worker where there is no `built_in`, to heat up GPUs; "": none
  std::vector<inputs::CommandFiles> command_files;  // of each workload
  CommandEnvironment command_environment;
  inputs::FileWatch files;  // as they were before their digests were taken
  store::Match match;
  std::map<std::string, inputs::ScratchCopy> copies;  // of data that trials read instead, by path as in the plan
  launch::Environment environment;                    // of the workers, beside this process's
  /// Where the processes of a run on null cards keep what the cards do, so that each sees the others' work; null else.
  std::unique_ptr<const files::TemporaryFolder> null_machine;
  std::unique_ptr<nodes::Nodes> nodes;  // null: there is this machine alone
  unsigned lanes_per_node = 1;          // once they are spread over nodes

  const WorkerProgram& workerOf(const plan::Workload& workload) const {
    return workload.command ? *command : *built_in;
  }
  /// The program that has the built-in workloads, if this run has any use for it.
  std::string builtInPath() const { return built_in ? built_in->path : heater; }
  const LaneDevices& lane(unsigned number) const { return lanes[number % lanes.size()]; }
  const machine::Machine& machineOf(const LaneDevices& lane) const {
    return nodes ? nodes->all()[lane.node].machine : machine;
  }
  const plan::Workload& workloadOf(const plan::Point& point) const { return plan.workloads[point.workload]; }
};

/// Picks what commands get out of `all` ("NAME=value"). `passed` are names that the user asked for besides
/// (--pass-env); the error says that one is not set, or is no name.
llvm::Expected<CommandEnvironment> commandEnvironment(const std::vector<std::string>& all,
                                                      const std::vector<std::string>& passed);

/// The variables of this process.
std::vector<std::string> ownVariables();

/// All that a command's environment begins with; on null cards also what makes them.
std::vector<std::string> commandVariables(const Setup& setup);

/// Whether trials can be started here at all: /proc is there, and the folders that they are told are UTF-8.
llvm::Error checkHost(const std::vector<std::string>& folders);

/// Finds the slots, and what the workers need where these are null cards.
llvm::Error findSlots(Setup& setup, const Resources& resources, ProgressListener& listener);

/// Marks points that need more devices than there are; with `places` also those whose cores or memory would have to be
/// where this machine has none.
void markUnavailable(Setup& setup, bool places);

/// Divides the slots into as many lanes as the design wants beside each other, or as there can be with the devices that
/// points need; says which.
void shareDevices(Setup& setup, ProgressListener& listener);

/// Starts the agents of the nodes that are asked for, if any are.
llvm::Error findNodes(Setup& setup, const Resources& resources, const std::string& results);

/// Gives each node the lanes of the first one, on its own devices, once the workers are known; where a point needs
/// several nodes, each so many of them. The error says how nodes are not alike.
llvm::Error spreadOverNodes(Setup& setup, const Resources& resources, ProgressListener& listener);

/// Makes the copies on each machine of the run; `tick` is called meanwhile, and its error ends it.
llvm::Error makeCopies(const Setup& setup, const inputs::Tick& tick, const launch::Say& say);

/// The session in which a lane's trials are.
store::SessionPlace sessionPlace(const Setup& setup, unsigned lane, const launch::LauncherDescription& launcher);

/// Describes the worker that a workload needs, unless that is done, and checks that it has the workload.
llvm::Error findWorker(Setup& setup, const Resources& resources, const plan::Workload& workload);

}  // namespace expc::engine
