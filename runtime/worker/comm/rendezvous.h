#pragma once

// The meeting place of a trial's ranks, and the reaction of a rank that loses the others. Environment variables of a
// launcher come in; collectives are left to communicator.h.

#include <llvm/Support/Error.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace expc::comm {

/// The address at which a rank meets the others, and its number.
struct Rendezvous {
  unsigned rank = 0;
  unsigned world_size = 1;
  unsigned local_rank = 0;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 0;
  /// Longest wait for another rank: in the rendezvous and in every collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

/// Reads the variables that torchrun-like launchers set: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and, if
/// set, EXPC_COMM_TIMEOUT_S (seconds, above zero). Without any of the first five, this is the only rank. The error
/// names the variable and what it must be.
llvm::Expected<Rendezvous> rendezvousFromEnvironment();

/// A rank could not reach the others: one of them died, hung or never came. Caught at the worker's trial boundary.
class CommError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Callback for a rank that has lost the others while its training thread cannot be told: the thread waits behind a
/// collective of a GPU that never ends. Called once, in a thread of its own, with CommError's message. It should report
/// and leave by _exit().
using OnLost = std::function<void(const std::string& message)>;

}  // namespace expc::comm
