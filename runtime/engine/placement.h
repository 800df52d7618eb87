#pragma once

// The ranks of a trial of a built-in workload on the slots that it was given.

#include "runtime/engine/launcher.h"
#include "runtime/machine/place.h"

namespace expc::engine {

/// Where the parameter `numa` puts ranks; near without it.
machine::Place placeOf(const llvm::json::Object& parameters);

/// What of the parameter `numa` makes no difference on this machine; "" if all of it does.
std::string placeNote(const machine::Machine& machine, const llvm::json::Object& parameters);

/// Fills world_size, slots and the ranks' environments of `request`. `own` are indices into `all`. One process holds
/// all of them, or there is a rank for each. Its parameters say where cores and memory are.
void placeRanks(TrialRequest& request, const machine::Machine& machine, const std::vector<machine::Slot>& all,
                const std::vector<unsigned>& own, bool one_process);

/// Where a rank stands among the others, and where they meet.
struct RankPlace {
  unsigned rank = 0, world_size = 1, local_rank = 0, local_size = 1;
  std::string address = "127.0.0.1";
  int port = 0;
  std::string interface;  // by which it reaches the others; "": not known, or there are none
};

/// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and for Gloo the interface.
std::vector<std::string> rankVariables(const RankPlace& place);

/// What a trial has of one node.
struct NodePart {
  const machine::Machine& machine;
  const std::vector<machine::Slot>& all;
  std::vector<unsigned> own;  // indices into `all`
  std::string interface;      // by which it reaches the others; "": not known
};

/// The same over several nodes, each with as many ranks, which are numbered from node to node. They meet at `address`,
/// the first node's.
void placeRanks(TrialRequest& request, const std::vector<NodePart>& parts, const std::string& address);

}  // namespace expc::engine
