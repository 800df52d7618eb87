#pragma once

// Cores, from hwloc.

#include "runtime/machine/machine.h"

namespace expc::machine {

/// Fills sockets, cores, threads, allowed, packages, nodes, cpu_model and the cores of each GPU.
void readTopology(Machine& machine);

/// Share number `index` of `parts` equal contiguous parts of `cores`; the first ones are larger by one where it does
/// not divide. With more parts than cores, cores are shared.
std::vector<int> share(const std::vector<int>& cores, unsigned index, unsigned parts);

}  // namespace expc::machine
