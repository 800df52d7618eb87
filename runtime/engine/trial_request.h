#pragma once

// What a trial is launched with, and the processes of a trial on the slots that it was given: ranks of a built-in
// workload, or one of a command on each of its nodes, which owns all devices that the point has there. Private to this
// directory.

#include <string>
#include <vector>

#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/options.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/traces.h"
#include "runtime/machine/machine.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// The part of one node in a trial.
struct NodePart {
  const machine::Machine& machine;
  const std::vector<machine::Slot>& all;
  std::vector<unsigned> own;  // indices into `all`
  std::string interface;      // by which it reaches the others; "": not known
  unsigned node = 0;
};

/// What a trial of the point has, of the devices of its lane: the same for all trials of a block with as many devices.
std::vector<NodePart> partsOf(const Setup& setup, const LaneDevices& lane, const store::Block& block,
                              const plan::Point& point);

/// Fills world_size, slots and the ranks' environments of `request`. There is a rank for each slot, or one process
/// holds all of one node. Of several nodes each has as many ranks, which are numbered from node to node; they meet at
/// `address`, the first node's. Its parameters say where cores and memory are.
void placeRanks(launch::TrialRequest& request, const std::vector<NodePart>& parts, bool one_process,
                const std::string& address = "127.0.0.1");

/// Completes `request`, whose specification has the point's parameters: command, folder, a slot of all the devices for
/// each node, environment (`variables`, then what expc sets itself; nothing is inherited), parameters (made absolute).
/// A point without a parameter `gpus` may use the cores of every slot: trials run one at a time, and how many threads
/// it takes is the program's business. Only where it has a parameter `nodes` there are variables that tell the
/// processes of each other, who meet at `address`.
void completeForCommand(launch::TrialRequest& request, const plan::Plan& plan, const plan::Point& point,
                        const std::vector<NodePart>& parts, const std::string& address, const std::string& folder,
                        const std::vector<std::string>& variables);

/// With what runs at the point, under that name.
launch::TrialRequest requestFor(const Setup& setup, const plan::Point& point, std::string trial, plan::TrialKind kind,
                                uint64_t seed);

/// `trial` has its number, key and limit.
launch::TrialRequest trialRequest(const Setup& setup, const EngineOptions& options, const Traces& traces,
                                  const std::vector<NodePart>& parts, const store::Block& block,
                                  const plan::Point& point, const store::Trial& trial);

/// The folder of what ranks print, made if it is not there.
std::string logFolder(const std::string& results);

}  // namespace expc::engine
