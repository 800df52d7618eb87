#pragma once

// Cores, from hwloc.

#include "runtime/machine/machine.h"

namespace expc::machine {

/// Fills sockets, cores, threads, allowed, packages, nodes, cpu_model, and of each GPU its cores, memory node and those
/// ways to others that NVML did not tell.
void readTopology(Machine& machine);

/// Share number `index` of `parts` equal contiguous parts of `cores`. What is left over where it does not divide is in
/// none, so that no part is better than another. With more parts than cores, cores are shared.
std::vector<int> share(const std::vector<int>& cores, unsigned index, unsigned parts);

}  // namespace expc::machine
