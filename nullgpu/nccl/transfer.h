#pragma once

// What an operation does once it is its turn: a collective of all ranks, or the messages of a group.

#include <memory>
#include <vector>

#include "nullgpu/nccl/call.h"
#include "nullgpu/nccl/clique.h"

namespace nullgpu::nccl {

class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Goes as far as it can without waiting for another rank. True: all of this rank's part is done.
  virtual bool step() = 0;
};

/// @param call outlives it
std::unique_ptr<Transfer> makeCollective(Clique& clique, Lane lane, const Call& call);
/// Those to and from one rank are done in their order, all others beside each other. @param calls outlive it
std::unique_ptr<Transfer> makeMessages(Clique& clique, Lane lane, const std::vector<Call>& calls);

}  // namespace nullgpu::nccl
