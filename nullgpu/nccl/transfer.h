#pragma once

// The movement of data once an operation's turn has come: a collective of all ranks, or the
// messages of a group. A transfer is polled and never waits for another rank.

#include <memory>
#include <vector>

#include "nullgpu/nccl/call.h"
#include "nullgpu/nccl/clique.h"

namespace nullgpu::nccl {

/// An operation under way.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Goes as far as it can without other ranks. @returns whether this rank's part is done
  virtual bool step() = 0;
};

/// Starts a collective. `call` must outlive the result.
std::unique_ptr<Transfer> makeCollective(Clique& clique, Lane lane, const Call& call);
/// Starts the messages of a group. Messages to and from one rank keep their order, all others go on
/// beside each other. `calls` must outlive the result.
std::unique_ptr<Transfer> makeMessages(Clique& clique, Lane lane, const std::vector<Call>& calls);

}  // namespace nullgpu::nccl
