#pragma once

// The meeting place of a trial's ranks, and the reaction of a rank that loses the others. Environment variables of a
// launcher come in; collectives are left to communicator.h.

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "runtime/base/llvm.h"

namespace expc::comm {

/// This rank's number, and the address at which it meets the others.
struct Rendezvous {
  unsigned rank = 0;
  unsigned world_size = 1;
  /// The rank among those on this node; it selects the device.
  unsigned local_rank = 0;
  std::string master_address = "127.0.0.1";
  /// 0 only for a single rank, which needs none.
  uint16_t master_port = 0;
  /// The longest wait for another rank, in the rendezvous and in every collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

/// Reads the variables that launchers such as torchrun set: RANK, WORLD_SIZE, LOCAL_RANK,
/// MASTER_ADDR and MASTER_PORT, and EXPC_COMM_TIMEOUT_S (seconds, above zero) if set. Without any
/// of the first five this is the only rank. The error names the variable and what it must be.
Expected<Rendezvous> rendezvousFromEnvironment();

/// Thrown if a rank cannot reach the others: one of them died, hung or never came. Caught where the
/// worker runs a trial.
class CommError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Called if a rank has lost the others while its training thread cannot be told, because it waits
/// behind a collective of a GPU that never ends. Called once, in another thread, with CommError's
/// message. It should report and leave by _exit().
using OnLost = std::function<void(const std::string& message)>;

}  // namespace expc::comm
