#pragma once

// Turns a trial into a TrialRequest: its processes, their devices, cores and environment variables, its
// parameters and limits. Private to this directory.
//
// A built-in workload has one rank for each device, or one process for all devices of a node. A command has one process
// on each of its nodes, which owns all devices that the point has there, or with `ranks` one for each device.

#include <string>
#include <vector>

#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/options.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/traces.h"
#include "runtime/machine/machine.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// The part of a trial that runs on one node. It refers to `machine` and `all`, which must outlive it.
struct NodePart {
  const Machine& machine;
  const std::vector<machine::Slot>& all;
  std::vector<unsigned> own;  // indices into `all`: the slots of this trial
  std::string interface;      // network interface towards the other nodes; "": not known, or one node
  unsigned node = 0;
};

/// The devices that a trial of the point gets, node by node, from those of its lane. All trials of a block with the
/// same number of devices get the same ones.
std::vector<NodePart> partsOf(const Setup& setup, const LaneDevices& lane, const store::Block& block,
                              const Point& point);

/// The absolute folder that is prepared for a point; "" if nothing is.
std::string preparedFolder(const Setup& setup, const Point& point, const std::string& results);

/// Fills world_size, slots and the environments of `request`: one rank for each slot, or one process with all slots of
/// one node. Each node has equally many ranks, numbered from node to node. They meet at `address`, which is the first
/// node's. The parameter `numa` decides where their cores and memory are.
void placeRanks(TrialRequest& request, const std::vector<NodePart>& parts, bool one_process,
                const std::string& address = "127.0.0.1");

/// Completes the request of a command (`ranks`: with a process for each device, not for each node), whose specification
/// has the point's parameters: command line, folder, for each process a slot, environment, and parameters with absolute
/// data paths. The environment is `variables` and then what expc sets itself; nothing is inherited.
///
/// A point without the parameter `gpus` may use the cores of all slots: no other trial runs in its lane, and the number
/// of threads is the program's business. Only with ranks or a parameter `nodes` do its processes get variables that
/// tell them of each other; they meet at `address`.
void completeForCommand(TrialRequest& request, const Plan& plan, const Point& point, const std::vector<NodePart>& parts,
                        const std::string& address, const std::string& folder,
                        const std::vector<std::string>& variables, bool ranks);

/// A request with the workload, parameters, root and seed of the point, and nothing about devices. `trial` names it in
/// messages and to the worker.
TrialRequest requestFor(const Setup& setup, const Point& point, std::string trial, TrialKind kind, uint64_t seed);

/// Leaves of a command's ranks the first on each node, for what runs there once.
void keepOnePerNode(TrialRequest& request);

/// The complete request of a trial whose number, key and limit are set.
TrialRequest trialRequest(const Setup& setup, const EngineOptions& options, const Traces& traces,
                          const std::vector<NodePart>& parts, const store::Block& block, const Point& point,
                          const Trial& trial);

/// The request of a service that trials of the point need, in `folder`, with the devices of `part`. `values`: its
/// address, for its arguments. It has no time limit.
TrialRequest serviceRequest(const Setup& setup, const EngineOptions& options, const NodePart& part,
                            const store::Block& block, const Point& point, const plan::Service& service,
                            const std::string& folder, std::map<std::string, std::string> values);

/// The folder of the ranks' logs; made if it is not there.
std::string logFolder(const std::string& results);

}  // namespace expc::engine
