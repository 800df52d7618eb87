#pragma once

// What an operation does once it is its turn: a collective of all ranks, or the messages of a group.

#include <functional>
#include <vector>

#include "nullgpu/nccl/call.h"
#include "nullgpu/nccl/clique.h"

namespace nullgpu::nccl {

/// Goes as far as it can without waiting for another rank. True: all of this rank's part is done.
using Transfer = std::function<bool()>;

/// Messages to and from one rank are done in their order, all others beside each other. @param calls outlive it
Transfer transferOf(Clique& clique, Lane lane, const std::vector<Call>& calls);

}  // namespace nullgpu::nccl
