#pragma once

// The processes of a trial on the slots that it was given: ranks of a built-in workload, or one of a command on each of
// its nodes, which owns all devices that the point has there. Private to this directory.

#include <string>
#include <vector>

#include "runtime/engine/launcher.h"
#include "runtime/machine/machine.h"
#include "runtime/plan/plan.h"

namespace expc::engine {

/// Where the parameter `numa` puts ranks; near without it.
machine::Place placeOf(const llvm::json::Object& parameters);

/// What of the parameter `numa` makes no difference on this machine; "" if all of it does.
std::string placeNote(const machine::Machine& machine, const llvm::json::Object& parameters);

/// What a trial has of one node.
struct NodePart {
  const machine::Machine& machine;
  const std::vector<machine::Slot>& all;
  std::vector<unsigned> own;  // indices into `all`
  std::string interface;      // by which it reaches the others; "": not known
};

/// Fills world_size, slots and the ranks' environments of `request`. There is a rank for each slot, or one process
/// holds all of one node. Of several nodes each has as many ranks, which are numbered from node to node; they meet at
/// `address`, the first node's. Its parameters say where cores and memory are.
void placeRanks(TrialRequest& request, const std::vector<NodePart>& parts, bool one_process,
                const std::string& address = "127.0.0.1");

/// Completes `request`, whose specification has the point's parameters: command, folder, a slot of all the devices for
/// each node, environment (`variables`, then what expc sets itself; nothing is inherited), parameters (made absolute).
/// A point without a parameter `gpus` may use the cores of every slot: trials run one at a time, and how many threads
/// it takes is the program's business. Only where it has a parameter `nodes` there are variables that tell the
/// processes of each other, who meet at `address`.
void completeForCommand(TrialRequest& request, const plan::Plan& plan, const plan::Point& point,
                        const std::vector<NodePart>& parts, const std::string& address, const std::string& folder,
                        const std::vector<std::string>& variables);

}  // namespace expc::engine
