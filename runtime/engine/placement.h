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

}  // namespace expc::engine
