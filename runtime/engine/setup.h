#pragma once

// The setup of a run or rehearsal: nodes, device slots, lanes, worker programs and the environment of commands. It is
// filled step by step before the first trial, each step may refuse the run, and it is constant from then on. Private to
// this directory.
//
// setup.cpp has the parts of one machine, setup_nodes.cpp those of several.

#include <llvm/Support/JSON.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/files/files.h"
#include "runtime/base/llvm.h"
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

/// The environment variables that a command of the study gets from the environment of `expc`. It is an allow list, so
/// that no result depends on a variable that nobody recorded.
struct CommandEnvironment {
  std::vector<std::string> variables;  // "NAME=value", sorted: everything but what expc sets itself
  /// Digest of the environment variables that must be equal for two trials to be comparable: all except user names and
  /// temporary folders.
  std::string digest;
  /// These variables for people, name -> value. A variable that was passed by name has only its digest here, since its
  /// value may be a secret.
  json::Object recorded;
  std::vector<std::string> withheld;  // names of variables that are set here and not passed, sorted
};

/// A worker program and its answer to --describe.
struct WorkerProgram {
  std::string path;
  launch::WorkerDescription description;
  std::string environment_class;  // of its trials; trials of different classes are never compared
};

/// The devices of one lane, disjoint from those of other lanes.
struct LaneDevices {
  std::vector<machine::Slot> slots;
  machine::AlikeSets sets;  // sets of `slots` that are alike, for trials on several devices
  unsigned node = 0;        // node of these devices, an index into Nodes::all()
  /// Equal devices on further nodes, for trials that need more devices than one node has.
  std::vector<LaneDevices> beyond;

  std::vector<unsigned> nodes() const;  // `node` and those beyond it
  /// How many of these nodes a point takes: the fewest that have its devices.
  unsigned nodesFor(const Point& point) const;
};

/// Everything that trials of a run share. Filled by the functions below, in the order that prepare() in engine.cpp has.
struct Setup {
  Plan plan;        // points that cannot run here are marked unavailable
  Machine machine;  // that of the engine, or of the first node
  std::vector<machine::Slot> slots;
  std::vector<LaneDevices> lanes;                   // disjoint and alike; one with all slots if nothing is shared
  std::optional<WorkerProgram> built_in, command;   // absent if no workload of the plan needs it
  std::string heater;                               // a worker that heats GPUs if there is no `built_in`; "": none
  std::vector<inputs::CommandFiles> command_files;  // by workload
  CommandEnvironment command_environment;
  inputs::FileWatch files;  // stamps from before the digests were taken
  store::Match match;
  std::map<std::string, inputs::ScratchCopy> copies;  // data path of the plan -> copy that trials read instead
  launch::Environment environment;                    // variables for the workers, added to those of this process
  /// The folder in which processes of a run on null cards share what the cards do; null on real devices.
  std::unique_ptr<const files::TemporaryFolder> null_machine;
  std::unique_ptr<nodes::Nodes> nodes;  // null: the run uses this machine alone
  unsigned lanes_per_node = 1;          // set once lanes are spread over nodes

  const WorkerProgram& workerOf(const plan::Workload& workload) const {
    return workload.command ? *command : *built_in;
  }
  /// The path of the program with the built-in workloads: the plan's, else the heater; "" if this run needs none.
  std::string builtInPath() const { return built_in ? built_in->path : heater; }
  /// The devices of a lane. A launcher of the caller's may have more lanes than there are sets of devices; they share.
  const LaneDevices& lane(unsigned number) const { return lanes[number % lanes.size()]; }
  const Machine& machineOf(const LaneDevices& lane) const { return nodes ? nodes->all()[lane.node].machine : machine; }
  const plan::Workload& workloadOf(const Point& point) const { return plan.workloads[point.workload]; }
};

/// Picks the variables that commands get out of `all` ("NAME=value"). `passed` are names that the user asked for with
/// --pass-env. Error: such a name is not set, is no name, or is one that expc sets itself; a value is not UTF-8.
Expected<CommandEnvironment> commandEnvironment(const std::vector<std::string>& all,
                                                const std::vector<std::string>& passed);

/// The environment of this process as "NAME=value".
std::vector<std::string> ownVariables();

/// The variables that a command's environment begins with; on null cards also those that load the null libraries.
std::vector<std::string> commandVariables(const Setup& setup);

/// Checks that trials can be started here at all. Error: /proc is not mounted, or a folder's name is not UTF-8, so that
/// no JSON message can carry it.
Error checkHost(const std::vector<std::string>& folders);

/// Probes the machine (or takes the first node's), chooses the slots that --devices names, and sets the variables that
/// workers on null cards need. Error: there are no such devices.
Error findSlots(Setup& setup, const Resources& resources, ProgressListener& listener);

/// Marks points that need more devices or nodes than there are; with `places` also those whose parameter `numa` asks
/// for cores or memory that this machine does not have.
void markUnavailable(Setup& setup, bool places);

/// Divides the slots into as many lanes as the design wants, or into fewer if the points need more devices each. Tells
/// the user which devices each lane has.
void shareDevices(Setup& setup, ProgressListener& listener);

/// Starts agents on the nodes that `resources` names, if any; their logs go to `results`/nodes. Error: a node did not
/// come.
Error findNodes(Setup& setup, const Resources& resources, const std::string& results);

/// Gives each node the lanes of the first node, on its own devices; called once the workers are known. If points need
/// several nodes, a lane spans as many nodes as the largest point needs. Error: nodes differ in hardware, driver,
/// worker or libraries, which the error names.
Error spreadOverNodes(Setup& setup, const Resources& resources, ProgressListener& listener);

/// Copies the data to the scratch disk of each machine of the run. `tick` is called meanwhile; its error ends the
/// copying.
Error makeCopies(const Setup& setup, const inputs::Tick& tick, const launch::Say& say);

/// The place of a lane's session: hosts, boots and lane. A session continues only at an equal place.
store::SessionPlace sessionPlace(const Setup& setup, unsigned lane, const launch::LauncherDescription& launcher);

/// Describes the worker that a workload needs, unless that was done for another workload, and checks that it has the
/// workload in the plan's version (built-in) or can read its metrics (command).
Error findWorker(Setup& setup, const Resources& resources, const plan::Workload& workload);

}  // namespace expc::engine
